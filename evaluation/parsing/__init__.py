"""Parsing of bytes from strangers, in processes with limits."""
