"""Published tables, made again: printed figures and ours, each with a verdict.

Nothing is tuned to come out as printed. The set-up is the paper's where it states one, each choice that it leaves open
is named, and a figure that has no counterpart here is called not comparable. ``reproduction`` is the program that all
papers share; a paper is its figures and its judge.
"""
