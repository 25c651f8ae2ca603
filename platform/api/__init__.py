"""The REST API of the site."""
