"""Unix-socket channel from git hooks to the HTTP request that started git."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core import clock
from core.errors import Fault, Refusal
from repositories.git_command import HOOKS
from repositories.push_messages import refusal_text

MAX_REQUEST_BYTES = 4 << 20
TIMEOUT_SECONDS = 10.0
TOO_MANY = Refusal(
    "this push changes too many branches and tags",
    fix="push only those that you need: git push origin main",
)


@dataclass(frozen=True)
class HookRequest:
    """The standard input of the hook named `hook`, and the variables that describe the quarantine."""

    hook: str
    lines: str
    environment: Mapping[str, str]


@dataclass(frozen=True)
class HookResponse:
    """Exit status and output of the hook."""

    status: int
    text: str


class HookChannel:
    """The request's end of the channel, for one push. `variables` tell the hooks its address."""

    def __init__(self) -> None:
        if not all(os.access(HOOKS / name, os.X_OK) for name in ("pre-receive", "post-receive")):
            raise Fault(f"the hooks in {HOOKS} are not executable, and without them git accepts every push")
        self._folder = tempfile.TemporaryDirectory(prefix="gauntlet-push-")
        address = Path(self._folder.name) / "socket"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(address))
        self.socket.listen(2)
        self.variables = {"GAUNTLET_SOCKET": str(address), "GAUNTLET_PYTHON": sys.executable}

    def accept(self) -> tuple[HookRequest, socket.socket]:
        """Return the request of a hook that connects, and the connection to answer it on."""
        connection, _ = self.socket.accept()
        try:
            connection.settimeout(TIMEOUT_SECONDS)
            received = bytearray()
            while block := connection.recv(1 << 16):
                received += block[: MAX_REQUEST_BYTES + 1 - len(received)]
            if len(received) > MAX_REQUEST_BYTES:
                self.reply(connection, HookResponse(1, refusal_text(TOO_MANY, clock.now())))
                raise Fault(f"the hook request of a push exceeds {MAX_REQUEST_BYTES:,} bytes")
            return HookRequest(**json.loads(received)), connection
        except BaseException:
            connection.close()
            raise

    @staticmethod
    def reply(connection: socket.socket, answer: HookResponse) -> None:
        """Answer the hook."""
        connection.sendall(json.dumps({"status": answer.status, "text": answer.text}).encode())

    def close(self) -> None:
        """Close the socket and remove its folder."""
        self.socket.close()
        self._folder.cleanup()
