"""Proof that a sandbox works on this host: it starts a control player, which must answer."""

from __future__ import annotations

import hashlib
import secrets
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from evaluation.domain.errors import Fault
from evaluation.domain.players import Program
from evaluation.protocol.channel import ChannelError
from evaluation.protocol.listener import Listener
from evaluation.sandbox.base import SOCKET_NAME, PlayerRun, Resources
from evaluation.sandbox.guard_trials import StartPlayer

_CONTROL = Path(__file__).with_name("working_sandbox_player.py")
_SECONDS = 30.0
_QUESTION_BYTES = 32
_FILE_BYTES = 1 << 16
_QUOTED_CHARACTERS = 300


@dataclass(frozen=True)
class ControlProof:
    """A control player: in `image`, or in an empty directory if that is None; it imports `modules` first."""

    image: str | None = None
    modules: tuple[str, ...] = ()
    gpu: bool = False

    def prove(self, start: StartPlayer, resources: Resources, starts: int) -> None:
        """Start it `starts` times, one after the other. Raise `Fault` if it does not answer once."""
        for number in range(1, starts + 1):
            try:
                self._prove_once(start, resources)
            except (Fault, OSError) as failure:
                which = f" (start {number} of {starts})" if starts > 1 else ""
                raise Fault(f"this host cannot run players: a control player failed{which}: {failure}") from failure

    def _prove_once(self, start: StartPlayer, resources: Resources) -> None:
        with tempfile.TemporaryDirectory(prefix="gauntlet-control-") as made:
            directory = Path(made)
            directory.chmod(0o755)  # a container runs as another user
            listener = Listener(directory / SOCKET_NAME)
            try:
                run = start(self._program(directory), socket_directory=directory, resources=resources)
                try:
                    failure = _failure(listener, run)
                finally:
                    ending = run.end()
            finally:
                listener.close()
        if failure:
            detail = (
                ending.host_failure or ending.log.strip()[-_QUOTED_CHARACTERS:] or f"exit status {ending.exit_code}"
            )
            raise Fault(f"{failure}: {detail}")

    def _program(self, directory: Path) -> Program:
        return Program(
            name="control player",
            command=("python3", "-c", _CONTROL.read_text(encoding="utf-8"), *self.modules),
            digest="control",
            directory=None if self.image else directory,
            image=self.image,
            gpu=self.gpu,
        )


def _failure(listener: Listener, run: PlayerRun) -> str:
    """Ask the control player. Return what is wrong with its answer, or an empty string."""
    deadline = time.monotonic() + _SECONDS
    try:
        connection = listener.accept(deadline, run.ended)
    except ChannelError as error:
        return error.reason.text
    question = secrets.token_bytes(_QUESTION_BYTES)
    expected = hashlib.sha256(question * (_FILE_BYTES // _QUESTION_BYTES)).digest()
    with connection:
        connection.settimeout(_SECONDS)
        try:
            connection.sendall(question)
            answer = connection.recv(len(expected), socket.MSG_WAITALL)
        except OSError as error:
            return f"it did not answer ({error})"
    return "" if answer == expected else "it did not answer" if not answer else "its answer was wrong"
