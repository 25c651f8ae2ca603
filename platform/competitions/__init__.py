"""Competitions: their tracks, rules, sample sets, windows, entries and organisers."""
