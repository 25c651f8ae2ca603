"""Matches: the queue of pieces, the workers that play them, and the results."""
