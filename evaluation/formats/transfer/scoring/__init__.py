"""Scores and ranks of the transfer format."""
