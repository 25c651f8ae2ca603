"""Servers of tests, on an address of this host."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer


@contextmanager
def serving(handler: type[BaseRequestHandler]) -> Iterator[str]:
    """Answer requests by `handler`, and give the server's address as that of a site."""
    with ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
