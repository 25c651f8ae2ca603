"""Frozen rounds: planned, frozen, played, published and released by organisers."""
