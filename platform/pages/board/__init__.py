"""Leaderboards, now and over time, and curves of several submissions."""
