"""Challenges: unranked matches of a team's own submission against an opponent whose files are public."""
