"""Models under attack."""
