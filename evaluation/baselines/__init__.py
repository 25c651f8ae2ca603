"""Bundled submissions: a folder for what is each one's own, and one of the parts that several of them share."""
