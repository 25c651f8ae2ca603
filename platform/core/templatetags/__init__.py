"""Template tags for all pages, including the admin."""
