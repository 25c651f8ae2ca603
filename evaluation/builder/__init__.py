"""Builders of submissions: a directory at a commit becomes a player."""
