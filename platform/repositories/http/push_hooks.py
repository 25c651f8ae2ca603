"""The two hooks of one push: git's pre-receive and post-receive, asked over a Unix socket and answered here."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from django.conf import settings
from django.db import connections

from accounts.models import User
from core import clock, platform_error_report, submission_traces
from core.errors import Fault, Refusal, RefusedForNow
from core.time_format import in_words, until
from repositories.git_command import HOOKS
from repositories.git_reader import GitReader
from repositories.models import Repository
from repositories.push_budget import Account
from repositories.ref_rules import RefUpdate, check_refs
from repositories.services import record_push, size_of

log = logging.getLogger(__name__)

MAX_QUESTION_BYTES = 4 << 20
TIMEOUT_SECONDS = 10.0
FAULT = "Gauntlet: platform error. Nothing was recorded. Please push again."
LATE_FAULT = "Gauntlet: your push is stored. Processing continues within a minute."


@dataclass(frozen=True)
class Push:
    """What `user` pushes to `repository`, which has the branches and tags `refs` (name: object) before it.

    `site_url` is the address of this site as the client knows it, without a trailing slash. The gate tells
    `trace` which submission the push became.
    """

    repository: Repository
    user: User
    updates: Sequence[RefUpdate]
    refs: Mapping[str, str]
    site_url: str
    trace: submission_traces.RootSpan = field(default_factory=partial(submission_traces.RootSpan, "git push"))


@dataclass(frozen=True)
class AcceptedPush:
    """The gate's acceptance of a push: `message` is for the pusher, and `after` does the work once git moved the refs.

    `after` gets the updates that git made, usually all, and returns another message. An exception does not undo them.
    """

    message: str
    after: Callable[[Sequence[RefUpdate]], str]


PushGate = Callable[[Push, GitReader], AcceptedPush]
"""Decides on a push, or raises `Refusal` with a text for the pusher. Any other exception is a platform error: it is
logged, and the push is rejected without its text.

Called once per push, in the request's thread, after the checks of refs and size. The objects have passed git's own
checks and are in quarantine, where the reader sees them.
"""


class _HookMessage(NamedTuple):
    """What `hooks/forward.py` sends: the hook's name, variables of the quarantine, and the hook's standard input."""

    hook: str
    quarantine: Mapping[str, str]
    lines: str

    @classmethod
    def read(cls, received: bytes) -> Self:
        hook, *variables, lines = received.decode(errors="surrogateescape").split("\0")
        named = (variable.partition("=") for variable in variables)
        return cls(hook, {name: value for name, _, value in named}, lines)


class ReceivePack:
    """The site's end of one push by `user`. `variables` tell git's hooks the address of `socket`.

    `account` is that of the push budget: a push that has used it up is rejected before the gate begins.
    """

    def __init__(self, gate: PushGate, repository: Repository, user: User, site_url: str, account: Account) -> None:
        if not all(os.access(HOOKS / name, os.X_OK) for name in ("pre-receive", "post-receive")):
            raise Fault(f"the hooks in {HOOKS} are not executable, and without them git accepts every push")
        self._gate, self._repository, self._user, self._site_url = gate, repository, user, site_url
        self._account = account
        self._accepted: AcceptedPush | None = None
        self._trace = submission_traces.RootSpan("git push")
        self._size = 0
        self._folder = tempfile.TemporaryDirectory(prefix="gauntlet-push-")
        address = Path(self._folder.name) / "socket"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(address))
        self.socket.listen(2)
        self.variables = {"GAUNTLET_SOCKET": str(address), "GAUNTLET_PYTHON": sys.executable}

    def close(self) -> None:
        """Close the socket and remove its folder, at the end of the push."""
        self._trace.end()
        self.socket.close()
        self._folder.cleanup()

    def answer(self, cost: Callable[[], float]) -> None:
        """Answer the hook that connects. git goes on if its status is 0, and shows its text to the pusher.

        `cost` returns the processor time of the push until now, in seconds; it reads the state of every process.
        """
        try:
            connection, _ = self.socket.accept()
            with connection:
                connection.settimeout(TIMEOUT_SECONDS)
                status, text = self._decide(_received(connection), cost)
                connection.sendall(f"{status}\n{_printable(text)}".encode())
        except (OSError, ValueError, TypeError):  # the hook has ended, and git fails with it
            log.warning("a git hook was not answered", exc_info=True)
        finally:
            close_connections()

    def _decide(self, received: bytes, cost: Callable[[], float]) -> tuple[int, str]:
        if len(received) > MAX_QUESTION_BYTES:
            refusal = Refusal(
                "this push changes too many branches and tags",
                fix="push only those that you need: git push origin main",
            )
            return 1, refusal_text(refusal, clock.now())
        question = _HookMessage.read(received)
        updates = [RefUpdate(*line.split(" ", 2)) for line in question.lines.split("\n") if line]
        if question.hook == "pre-receive":
            return self._before(updates, question.quarantine, cost())
        return self._after(updates)

    def _before(self, updates: Sequence[RefUpdate], quarantine: Mapping[str, str], cost: float) -> tuple[int, str]:
        try:
            self._account.require(cost)
            with self._trace.step("gate check"), GitReader(self._repository.path, quarantine) as reader:
                refs = reader.refs()
                check_refs(updates, refs)
                self._size = size_of(self._repository.path)
                if not all(update.deletes for update in updates):
                    _check_size(self._size)
                push = Push(self._repository, self._user, updates, refs, self._site_url, self._trace)
                self._accepted = self._gate(push, reader)
        except Refusal as refusal:
            return 1, refusal_text(refusal, clock.now())
        except Exception as error:
            self._account.platform_error = True
            platform_error_report.report(
                log, error, "a push of %s to %s cannot be decided", self._user, self._repository
            )
            return 1, FAULT
        return 0, self._accepted.message

    def _after(self, updates: Sequence[RefUpdate]) -> tuple[int, str]:
        try:
            if self._accepted is None:
                raise Fault("git moved refs in a push that the gate has not accepted")
            with self._trace.step("submit"):
                record_push(self._repository, self._size)
                return 0, self._accepted.after(updates)
        except Exception as error:
            self._account.platform_error = True
            platform_error_report.report(
                log, error, "a push of %s to %s is stored, and not processed", self._user, self._repository
            )
            return 0, LATE_FAULT


def close_connections() -> None:
    """Close idle database connections: a push may take minutes, and needs no database meanwhile."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


def refusal_text(refusal: Refusal, now: datetime) -> str:
    """Format a rejected push: what happened, the cause, the fix, and when a push is accepted again."""
    lines = ["Gauntlet: rejected. Nothing was recorded and no slot was used."]
    lines.append(_indented("  problem: ", refusal.problem))
    if refusal.fix:
        lines.append(_indented("  fix: ", refusal.fix))
    if isinstance(refusal, RefusedForNow):
        at = refusal.accepted_from
        lines.append(f"  accepted again from {in_words(at)} ({until((at - now).total_seconds())})")
    return "\n".join(lines)


def _indented(head: str, text: str) -> str:
    """Return a text of several lines below each other, after a head."""
    return head + text.replace("\n", f"\n{' ' * len(head)}")


def _received(connection: socket.socket) -> bytes:
    """Return what the hook sent, or its first bytes, one more than allowed."""
    received = bytearray()
    while block := connection.recv(1 << 16):
        received += block[: MAX_QUESTION_BYTES + 1 - len(received)]
    return bytes(received)


def _printable(text: str) -> str:
    """Return `text` with control characters escaped, so that a terminal does not act on them."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def _check_size(size: int) -> None:
    limit: int = settings.MAX_REPOSITORY_BYTES
    if size > limit:
        raise Refusal(
            f"the repository would hold {size >> 20:,} MiB with this push; at most {limit >> 20:,} MiB are allowed",
            fix="push fewer or smaller files, or ask an organiser for more space",
        )
