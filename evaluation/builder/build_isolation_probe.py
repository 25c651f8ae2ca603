"""Step of a probe build that prints as JSON what it can see of the host. Standard library only."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import Any


def look() -> dict[str, Any]:
    """Return what a step sees of the host and of other builds, as root of its container."""
    with open("/proc/self/uid_map") as file:  # noqa: PTH123
        users = file.read().split()
    with open("/proc/self/status") as file:  # noqa: PTH123
        status = dict(line.rstrip("\n").split(":", 1) for line in file)
    return {
        "user_outside": int(users[1]),
        "filter": status["Seccomp"].strip(),
        "interfaces": [name for _, name in socket.if_nameindex() if name != "lo"],
        "engine": os.path.exists("/var/run/docker.sock"),  # noqa: PTH110
        "loopback": _answer("CONNECT 127.0.0.1:6379 HTTP/1.0\r\n\r\n"),
        "metadata": _answer("GET http://169.254.169.254/ HTTP/1.0\r\n\r\n"),
    }


def _answer(request: str) -> str:
    """Return the first line of the proxy's answer, empty if there is none."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", 3128), timeout=10) as connection:
        connection.sendall(request.encode())
        return connection.recv(4096).decode(errors="replace").partition("\r\n")[0]
    return ""


if __name__ == "__main__":
    print(json.dumps(look()), flush=True)  # noqa: T201 - its answer
