"""The threads that keep a call's times get their priority, though they bear their names only once they run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from legato import _core
from legato.call import Pictures, priority
from legato.call.ends import Session
from legato.plan import Choice


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="this system has no such classes")
def test_every_thread_of_both_ends_is_raised_or_none_is_said_to_be(tmp_path: Path):
    if not hasattr(_core, "RealCall"):
        pytest.skip("this build makes no real calls: it lacks the feature `calls`")
    made = Choice("steady", options={"duration_s": 1.0}).plan().to_json()
    call = _core.RealCall(
        made, 0, str(tmp_path), Session.of("legato"), pictures=Pictures(width=320, height=180, fps=15)
    )
    try:
        granted = priority.raised(ends=2)
        classes = []
        for task in Path("/proc/self/task").glob("*"):
            if (task / "comm").read_text(encoding="utf-8").strip() in priority.THREADS:
                classes.append(os.sched_getscheduler(int(task.name)) & ~os.SCHED_RESET_ON_FORK)
    finally:
        call.stop()
    assert len(classes) >= 2 * len(priority.THREADS) or not granted
    if granted:
        assert set(classes) == {os.SCHED_FIFO}
    else:
        assert os.geteuid() != 0
