"""Lists of competitions, leaderboards and teams, people, and the search."""
