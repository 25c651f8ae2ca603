"""Runs of the benchmark: attacks against models, batch by batch."""
