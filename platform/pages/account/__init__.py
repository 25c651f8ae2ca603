"""Account page of a user."""
