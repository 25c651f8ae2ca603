"""Git hook: forwards the push to the HTTP request that started git, prints the answer and exits with its status.

Started twice in every push, so it imports little: `json` and `socket` would more than double its processor time. The
environment names the socket. A question is the hook's name, variables and the hook's input, with NUL between them; an
answer is the exit status and a line break before the text.
"""

from __future__ import annotations

import os
import sys
from _socket import AF_UNIX, SHUT_WR, socket  # the module `socket` imports `enum` and `selectors`

QUARANTINE = (b"GIT_QUARANTINE_PATH", b"GIT_OBJECT_DIRECTORY", b"GIT_ALTERNATE_OBJECT_DIRECTORIES")
NO_ANSWER = {
    "pre-receive": "Nothing was recorded. Please push again.",
    # the refs are already updated
    "post-receive": "Your push is stored. See your team's page in a minute.",
}


def main(hook: str) -> int:
    """Forward one call of the hook named `hook` and return its exit status."""
    variables = [name + b"=" + os.environb[name] for name in QUARANTINE if name in os.environb]
    try:
        answer = _answer(b"\0".join([hook.encode(), *variables, sys.stdin.buffer.read()]))
        status, _, text = answer.partition(b"\n")
        exit_status = int(status)
    except (OSError, KeyError, ValueError):
        exit_status, text = 1, f"Gauntlet: the site does not answer. {NO_ANSWER[hook]}".encode()
    if text:
        sys.stderr.buffer.write(text + b"\n")
    return exit_status


def _answer(question: bytes) -> bytes:
    connection = socket(AF_UNIX)
    connection.connect(os.environ["GAUNTLET_SOCKET"])
    connection.sendall(question)
    connection.shutdown(SHUT_WR)
    answer = b""
    while block := connection.recv(1 << 16):
        answer += block
    return answer


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
