"""Submissions: push gate, quota ledger, and the pipeline from a commit to a player."""
