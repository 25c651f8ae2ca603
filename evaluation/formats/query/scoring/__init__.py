"""Scores of the query format, by version, and their statistics."""
