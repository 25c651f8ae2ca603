"""One match end to end: the only place where sandboxes, sockets and the referee meet."""
