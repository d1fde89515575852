"""Reports: from run folders (docs/reference/run-folder.md) to a table, and to one HTML file that opens anywhere.

>>> legato.report.write(["runs/demo"], "demo.html")        # doctest: +SKIP
>>> legato.report.summarise(["runs/demo"], baseline="fixed").rows   # doctest: +SKIP
"""

from legato.report.report import MAX_TIMELINES
from legato.report.report import write_report as write
from legato.results.comparison import Summary, TableRow, summarise
from legato.results.figures import CDF_METRICS, KEY_METRICS, METRICS, Metric
from legato.results.run_folder import RunFolder, open_run

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
