"""Published tables, made again: one module a paper, its figures as printed beside ours.

Nothing is tuned to come out as printed: the set-up is the paper's where it says one, what it does not say is named,
and a figure that has no counterpart here is called not comparable.
"""
