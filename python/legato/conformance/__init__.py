"""The RMCAT test cases (RFC 8867) for every controller, with verdicts.

The RFC describes cases and expectations in words; it gives no pass marks. The marks here are Legato's: ``criteria.py``
has them, docs/measured/conformance.md explains them, and they were fixed before the table was published. A controller
that fails is published as failing.
"""

from legato.conformance.case import Case
from legato.conformance.cases import CASES
from legato.conformance.encouraged import ENCOURAGED
from legato.conformance.judge import Check, Verdict
from legato.conformance.suite import Suite, conformance

__all__ = ["CASES", "ENCOURAGED", "Case", "Check", "Suite", "Verdict", "conformance"]
