"""Tournaments: who plays whom, and how results become tables. Pure."""
