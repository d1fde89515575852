"""What an environment of many calls is given: one number a call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from legato.errors import Error


def one_each(actions: Any, calls: int) -> NDArray[np.float32]:
    """``actions`` as ``(N,)``, an answer for each of ``calls`` calls; other numbers of them are refused."""
    answers = np.ascontiguousarray(actions, np.float32).reshape(-1)
    if len(answers) != calls:
        raise Error(f"actions: {len(answers)} for {calls} calls")
    return answers
