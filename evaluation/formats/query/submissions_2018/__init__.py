"""Submissions of 2018: their manifest, their programs, and how they are built."""
