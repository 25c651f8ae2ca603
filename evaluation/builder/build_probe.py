"""The step of the builds that prove the guards: tries to break out and prints, as JSON, what it saw.

Standard library only.

python3 probe.py look            the user, the system call filter, the network, what else lies in the storage
python3 probe.py fork COUNT      start up to COUNT children that wait
python3 probe.py spin SECONDS    use four processors; how many it really got
python3 probe.py eat BYTES       touch BYTES of memory
python3 probe.py fill            write files until something ends it
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import sys
import time
from typing import Any

_CHUNK = bytes(1 << 20)


def look() -> dict[str, Any]:
    """What of the host and of other builds a step sees, as root of its container."""
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


def fork(most: int) -> dict[str, Any]:
    """How many children could live at once, and which error ended it."""
    children: list[int] = []
    failure = ""
    try:
        while len(children) < most:
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    except OSError as error:
        failure = errno.errorcode.get(error.errno or 0, str(error))
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return {"children": len(children), "error": failure}


def spin(seconds: float) -> dict[str, Any]:
    """Processor time over wall time of four busy processes."""
    began = time.monotonic()
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            while time.monotonic() - began < seconds:
                pass
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    times = os.times()
    return {"cpus": (times.children_user + times.children_system) / (time.monotonic() - began)}


def eat(most: int) -> dict[str, Any]:
    """Whether `most` bytes of memory could be touched."""
    held: list[bytearray] = []
    while len(held) * len(_CHUNK) < most:
        held.append(bytearray(b"x" * len(_CHUNK)))
    return {"eaten": len(held) * len(_CHUNK)}


def fill() -> dict[str, Any]:
    """Write files of a MiB each, 4 GiB of them at most."""
    written = 0
    with contextlib.suppress(OSError):
        while written < 4 << 30:
            with open(f"/fill-{written}", "wb", buffering=0) as file:  # noqa: PTH123
                written += file.write(_CHUNK)
            time.sleep(0.002)
    return {"written": written}


def _answer(request: str) -> str:
    """The first line that the proxy answers; empty where there is none."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", 3128), timeout=10) as connection:
        connection.sendall(request.encode())
        return connection.recv(4096).decode(errors="replace").partition("\r\n")[0]
    return ""


if __name__ == "__main__":
    act, arguments = sys.argv[1], sys.argv[2:]
    acts: dict[str, Any] = {
        "look": look,
        "fork": lambda most: fork(int(most)),
        "spin": lambda seconds: spin(float(seconds)),
        "eat": lambda most: eat(int(most)),
        "fill": fill,
    }
    print(json.dumps({act: acts[act](*arguments)}), flush=True)  # noqa: T201 - its answer
