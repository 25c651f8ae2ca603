"""External calls of the site, numbered in their order, of which one may fail."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TypeVar

import git.cmd
import kombu.exceptions
import pytest
from celery import current_app
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection, connections

from core.object_store import ObjectFolder

Answer = TypeVar("Answer")

PLATFORM = f"{Path(__file__).resolve().parents[3]}/platform/"
DEPTH = 6
"""Lines of the site's code that name a call."""


class Failure(StrEnum):
    """How a call fails."""

    REFUSED = "refused"
    """It has no effect. A connection to the database stays usable, as after a deadlock or a time-out."""
    UNANSWERED = "unanswered"
    """It takes effect, and its answer is lost. A connection to the database is lost with it, and with the connection
    what its transaction has not committed."""


class Call(NamedTuple):
    """What was called, where the site did, and whether the call can take effect without an answer."""

    what: str
    site: str
    effective: bool

    def __str__(self) -> str:
        return f"{self.what} at {self.site}"

    @property
    def kind(self) -> str:
        """The first word: "SELECT", "COMMIT", "message"."""
        return self.what.split()[0]


@dataclass
class ExternalCalls:
    """Counts the calls while `counting`, and lets number `failing` fail once."""

    counting: bool = False
    failing: int | None = None
    failure: Failure = Failure.REFUSED
    seen: list[Call] = field(default_factory=list)
    lost_connection: bool = False

    def begin(self, failing: int | None = None, failure: Failure = Failure.REFUSED) -> None:
        """Count from zero."""
        self.counting, self.failing, self.failure, self.lost_connection = True, failing, failure, False
        self.seen = []

    def make(self, what: str, act: Callable[[], Answer], error: Exception, *, effective: bool) -> Answer:
        """Make a call, or fail; `effective` if it can take effect although it raises."""
        if not self.counting:
            return act()
        number = len(self.seen)
        self.seen.append(Call(what, _site(), effective))
        if number != self.failing:
            return act()
        if self.failure is Failure.UNANSWERED:
            act()
        raise error

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Make the calls of others than the site."""
        counting, self.counting = self.counting, False
        try:
            yield
        finally:
            self.counting = counting

    def statement(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        """Execute a statement; a wrapper of the connection's queries."""
        self._require_connection()
        error = OperationalError("the database has failed")
        # a transaction that is not committed is lost with the connection, whatever the statement did
        alone = not connection.in_atomic_block and not sql.startswith(("SELECT", "BEGIN"))
        return self._at_database(
            " ".join(sql.split()[:3]), lambda: execute(sql, params, many, context), error, effective=alone
        )

    def commit(self, commit: Callable[[], None]) -> None:
        """Commit the transaction of the connection."""
        self._require_connection()
        self._at_database("COMMIT", commit, OperationalError("the database has failed"), effective=True)

    def close(self, close: Callable[[], None]) -> None:
        """Close the connection; a lost one takes its transaction with it."""
        if self.lost_connection:
            self.lost_connection = False
            if connection.connection is not None and connection.vendor == "sqlite":
                connection.connection.rollback()  # a database in memory is never closed
        close()

    def roll_back(self, roll_back: Callable[[], None]) -> None:
        """Roll back the transaction of the connection."""
        self._require_connection()
        roll_back()

    def _at_database(self, what: str, act: Callable[[], Answer], error: Exception, *, effective: bool) -> Answer:
        failing = self.counting and len(self.seen) == self.failing
        try:
            return self.make(what, act, error, effective=effective)
        finally:
            if failing:
                connection.errors_occurred = True
                self.lost_connection = self.failure is Failure.UNANSWERED

    def _require_connection(self) -> None:
        if self.lost_connection:
            connection.errors_occurred = True
            raise InterfaceError("connection already closed")


def _site() -> str:
    """Return the innermost lines of the site that lead to this call."""
    lines: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(lines) < DEPTH:
        if PLATFORM in frame.f_code.co_filename:
            lines.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(lines)


def watch(calls: ExternalCalls, patch: pytest.MonkeyPatch, messages: list[tuple[str, dict[str, int]]]) -> None:
    """Let every external call of the site go through `calls`: statements, objects, programs and messages."""
    _watch_database(calls, patch)
    for name in ("_save", "_open", "delete"):
        _watch_objects(calls, patch, name, effective=name != "_open")
    for name in ("exists", "size", "listdir"):
        _watch_objects(calls, patch, name, effective=False)
    for module, name in ((subprocess, "Popen"), (git.cmd, "safer_popen")):
        _watch_programs(calls, patch, module, name)

    def send(task: str, kwargs: dict[str, int], **options: Any) -> None:
        error = kombu.exceptions.OperationalError("the broker cannot be reached")
        calls.make(f"message {task}", lambda: messages.append((task, kwargs)), error, effective=True)

    patch.setattr(current_app, "send_task", send)


def _watch_database(calls: ExternalCalls, patch: pytest.MonkeyPatch) -> None:
    database = connections[DEFAULT_DB_ALIAS]
    commit, close, roll_back, usable = (
        getattr(database, name) for name in ("_commit", "close", "_rollback", "is_usable")
    )
    patch.setattr(database, "execute_wrappers", [*database.execute_wrappers, calls.statement])
    patch.setattr(database, "_commit", lambda: calls.commit(commit))
    patch.setattr(database, "close", lambda: calls.close(close))
    patch.setattr(database, "_rollback", lambda: calls.roll_back(roll_back))
    patch.setattr(database, "is_usable", lambda: not calls.lost_connection and usable())


def _watch_objects(calls: ExternalCalls, patch: pytest.MonkeyPatch, name: str, *, effective: bool) -> None:
    act = getattr(ObjectFolder, name)

    def watched(self: ObjectFolder, *arguments: Any) -> Any:
        error = OSError(5, "Input/output error")
        return calls.make(f"object {name}", lambda: act(self, *arguments), error, effective=effective)

    patch.setattr(ObjectFolder, name, watched)


def _watch_programs(calls: ExternalCalls, patch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    start = getattr(module, name)

    def watched(command: Any, *arguments: Any, **options: Any) -> Any:
        words = [word for word in command if not word.startswith(("-", "prlimit"))]
        error = BlockingIOError(11, "Resource temporarily unavailable")
        return calls.make(
            f"program {' '.join(words[:2])}", lambda: start(command, *arguments, **options), error, effective=False
        )

    patch.setattr(module, name, watched)
