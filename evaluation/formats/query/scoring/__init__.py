"""Scores and leaderboards of the query format, by version, and their statistics."""
