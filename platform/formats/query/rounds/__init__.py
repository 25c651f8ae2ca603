"""Rounds of the query format: matches in stages, then new pools."""
