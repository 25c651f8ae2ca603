"""Distances, scores and ranks: pure functions, with a version."""
