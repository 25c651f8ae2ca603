"""The planning of a round, up to its freeze."""
