"""R3Net: its set-ups, what is read of its calls, and how its claims are judged; ``study`` puts it together."""
