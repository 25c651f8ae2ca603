"""The demo of the query format."""
