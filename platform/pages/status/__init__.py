"""Status page, and what needs a person."""
