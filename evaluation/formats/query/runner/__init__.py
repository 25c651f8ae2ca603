"""Runs of whole matches: the only package that combines sandboxes, sockets and the referee."""
