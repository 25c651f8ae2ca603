"""Loaders: from files to samples."""
