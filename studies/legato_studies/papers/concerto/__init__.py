"""Concerto: its set-ups, the figures of its calls, and the verdicts on its claims; ``study`` puts it together."""
