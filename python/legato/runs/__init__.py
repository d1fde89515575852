"""A plan becomes a run folder; one call of it is made again, or written as an RTP log."""
