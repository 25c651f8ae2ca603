"""Template tags of what all pages share, the admin included."""
