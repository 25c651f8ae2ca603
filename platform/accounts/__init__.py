"""People, teams, memberships and access tokens."""
