"""Judging controllers: the statistics that a claim has to survive."""
