"""Frozen rounds: planned, frozen, played, applied and released by organisers."""
