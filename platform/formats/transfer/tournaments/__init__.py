"""Tournaments of the transfer format: entrants, runs of attacks and defences on batches, standings."""
