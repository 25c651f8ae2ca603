"""Page of a team and its invitations."""
