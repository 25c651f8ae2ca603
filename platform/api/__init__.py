"""The REST face of the site."""
