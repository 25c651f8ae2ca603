"""Matches: the claim queue, the workers that play pieces, and what comes of them."""
