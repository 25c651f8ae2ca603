"""Bundled submissions: each folder is a complete repository."""
