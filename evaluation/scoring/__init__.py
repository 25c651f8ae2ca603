"""Distances, scores and ranks: pure functions, versioned."""
