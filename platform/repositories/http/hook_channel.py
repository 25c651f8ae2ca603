"""The line on which git's hooks reach the request that git works for: a unix socket in a folder of its own."""

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
LINE_SECONDS = 10.0
TOO_MANY = Refusal(
    "this push changes more branches and tags than are taken at once",
    fix="push only those that are needed: git push origin main",
)


@dataclass(frozen=True)
class HookRequest:
    """What the hook named `hook` was given on its input, and the variables by which git knows the quarantine."""

    hook: str
    lines: str
    environment: Mapping[str, str]


@dataclass(frozen=True)
class HookResponse:
    """The exit status of the hook, and what it prints."""

    status: int
    text: str


class HookChannel:
    """Hears the hooks of one push. `variables` lead them here."""

    def __init__(self) -> None:
        if not all(os.access(HOOKS / name, os.X_OK) for name in ("pre-receive", "post-receive")):
            raise Fault(f"the hooks in {HOOKS} cannot be started, and without them git takes every push")
        self._folder = tempfile.TemporaryDirectory(prefix="gauntlet-push-")
        address = Path(self._folder.name) / "line"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(address))
        self.socket.listen(2)
        self.variables = {"GAUNTLET_SOCKET": str(address), "GAUNTLET_PYTHON": sys.executable}

    def hear(self) -> tuple[HookRequest, socket.socket]:
        """The question of a hook that calls, and where to answer it."""
        caller, _ = self.socket.accept()
        try:
            caller.settimeout(LINE_SECONDS)
            told = bytearray()
            while block := caller.recv(1 << 16):
                told += block[: MAX_REQUEST_BYTES + 1 - len(told)]
            if len(told) > MAX_REQUEST_BYTES:
                self.reply(caller, HookResponse(1, refusal_text(TOO_MANY, clock.now())))
                raise Fault("a push changes more refs than its hook can tell")
            return HookRequest(**json.loads(told)), caller
        except BaseException:
            caller.close()
            raise

    @staticmethod
    def reply(caller: socket.socket, answer: HookResponse) -> None:
        """Answer the hook that called."""
        caller.sendall(json.dumps({"status": answer.status, "text": answer.text}).encode())

    def close(self) -> None:
        """Nobody is heard any more; the folder goes."""
        self.socket.close()
        self._folder.cleanup()
