"""What run folders hold, as figures: one store, one registry of figures, one comparison of controllers.

Pages, verbs and studies read results here. None writes its own SQL over a summary, and none its own statistics.
"""
