"""Git hook: forwards the push to the HTTP request that started git, prints the answer and exits with its status.

Started for every push, so it uses nothing but the standard library. The environment names the socket.
"""

from __future__ import annotations

import json
import os
import socket
import sys

QUARANTINE = ("GIT_QUARANTINE_PATH", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
NO_ANSWER = {
    "pre-receive": "Nothing was recorded. Please push again.",
    # the refs are already updated
    "post-receive": "Your push is stored. See your team's page in a minute.",
}


def main(hook: str) -> int:
    """Forward one call of the hook named `hook` and return its exit status."""
    lines = sys.stdin.buffer.read().decode(errors="surrogateescape")
    request = {
        "hook": hook,
        "lines": lines,
        "environment": {name: os.environ[name] for name in QUARANTINE if name in os.environ},
    }
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(os.environ["GAUNTLET_SOCKET"])
            connection.sendall(json.dumps(request).encode())
            connection.shutdown(socket.SHUT_WR)
            answer = json.loads(connection.makefile("rb").read())
    except (OSError, KeyError, ValueError):
        answer = {"status": 1, "text": f"Gauntlet: the site does not answer. {NO_ANSWER[hook]}"}
    if answer["text"]:
        sys.stderr.buffer.write(f"{answer['text']}\n".encode(errors="backslashreplace"))
    return int(answer["status"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
