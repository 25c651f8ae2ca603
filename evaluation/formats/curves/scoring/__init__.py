"""Scores of the benchmark: pure functions of results."""
