"""Submissions: the door, the quota ledger, the way from a commit to a player."""
