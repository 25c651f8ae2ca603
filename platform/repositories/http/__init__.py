"""Git's smart protocol over HTTP: hooks, and limits on slow clients and concurrent requests."""
