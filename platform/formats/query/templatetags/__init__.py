"""Template tags of the query format."""
