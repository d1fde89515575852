"""The marks a controller is judged by. Frozen: a change is a separate commit, with the table before and after.

RFC 8867 has none; docs/measured/conformance.md has the origin of each and the data that it was tuned on.
"""

from __future__ import annotations

STEADY_WINDOW_S = 2.0
"""Rates are judged as means over this window: one second of AIMD's saw-tooth is not instability."""
STEADY_BAND = (0.65, 1.25)
"""Steady is within this of the fair share. The lower end is what a back-off to 0.85 of the received rate and the noise
of one frame leave of 0.8; at the upper end one flow takes a quarter more than its share."""
STEADY_HOLD = 0.9
"""The minimum share of the rest of a segment that is spent in the band."""
SETTLE_AFTER_DROP_S = 15.0
SETTLE_AFTER_RISE_S = 25.0
MIN_UTILISATION = 0.75
"""Of the fair share (capacity, or the flow's maximum), over the last 10 s of a segment."""
UTILISATION_WINDOW_S = 10.0
MAX_QUEUE_P95_MS = 150.0
MAX_LOSS_RATIO = 0.02
DROP_GRACE_S = 3.0
"""Queue and loss do not count for this long after the capacity fell: a sender cannot know of it any earlier."""
MAX_SWINGS = 6
SWING_RATIO = 0.25
"""A swing is a turn of the 2 s mean by more than this of the fair share."""
RATIO_BAND = (1 / 3, 3.0)
"""RFC 8868's guideline for flows of one priority and similar round trips."""
RATIO_BAND_LATE = (0.5, 2.0)
RATIO_WINDOW_S = 20.0
MINIMUM_SHARE = 0.8
"""The share that a call at its minimum target delivers of it: the encoder deviates, and a queue moves a frame into
the next second."""
STARVED_S = 2.0
"""No flow is below that for longer."""
FEEDBACK_GOODPUT = 0.7
FEEDBACK_GOODPUT_CONGESTED = 0.5
"""Of the reference run's, while the feedback path is narrower than the media on it."""
LATE_JOINER_S = 30.0
LATE_JOINER_SHARE = 0.5
JAIN_SAME_RTT = 0.9
JAIN_RTT = 0.8
MAX_RATIO_RTT = 4.0
ABOVE_MINIMUM_TIME = 0.95
TCP_SHARE = 0.2
RECOVERY_SHARE = 0.8
RECOVERY_S = 30.0
PAUSE_REACH_S = 20.0
PAUSE_REACH_SHARE = 0.9
RESUME_FAIR_S = 30.0
PRIORITY_RATIO = (1.6, 2.4)
ECN_QUEUE_SLACK_MS = 5.0
ECN_RATE_SHARE = 0.8
"""Marks come earlier than drops, so a controller that reacts to them may give up some rate for its shorter queue."""
BOTTLENECK_UTILISATION = 0.7
WIRELESS_UTILISATION = 0.6
CELL_UTILISATION = 0.5
CELL_FRAME_DELAY_MS = 400.0
"""ITU-T G.114: above 400 ms one way a conversation is not planned for."""
CELL_LOSS_RATIO = 0.05
SOURCE_RESPONSE_S = 0.1
"""RFC 8867 section 4.3: how soon a source answers a new target."""
SOURCE_WINDOW_S = 1.0
SOURCE_DEVIATION = 0.05
"""The same section: how far it may be from its target over this time."""
