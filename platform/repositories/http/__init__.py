"""Serve git over HTTP: the smart protocol, hooks, and limits on slow clients and concurrent requests."""
