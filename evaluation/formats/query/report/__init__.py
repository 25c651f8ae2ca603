"""Reports of the query format."""
