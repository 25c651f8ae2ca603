"""The views of the pages, by subject."""
