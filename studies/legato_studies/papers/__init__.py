"""Published tables, made again: figures as printed beside ours, each with a verdict.

Nothing is tuned to come out as printed: the set-up is the paper's where it states one, what it does not state is named,
and a figure that has no counterpart here is called not comparable. ``reproduction`` is the program that all papers
share; a paper is its figures and its judge.
"""
