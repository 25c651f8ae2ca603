"""Pictures to share."""
