"""Reports: from run folders (docs/run-folder.md) to a table, and to one HTML file that opens anywhere.

>>> legato.report.write(["runs/demo"], "demo.html")        # doctest: +SKIP
>>> legato.report.summarise(["runs/demo"], baseline="fixed").rows   # doctest: +SKIP
"""

from legato.report.metrics import CDF_METRICS, KEY_METRICS, METRICS, Metric
from legato.report.page import MAX_TIMELINES, write
from legato.report.run_folder import RunFolder, open_run
from legato.report.tables import Summary, TableRow, summarise

__all__ = [
    "CDF_METRICS",
    "KEY_METRICS",
    "MAX_TIMELINES",
    "METRICS",
    "Metric",
    "RunFolder",
    "Summary",
    "TableRow",
    "open_run",
    "summarise",
    "write",
]
