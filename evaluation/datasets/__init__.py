"""Loaders of data sets."""
