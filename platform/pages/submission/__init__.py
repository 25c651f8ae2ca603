"""Page of a submission."""
