"""Template tags of the transfer format."""
