"""Rounds of the transfer format: every attack meets every defence, in a tournament with a fixed field."""
