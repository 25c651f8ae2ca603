"""Traces of submissions, by option: of each submission one, from its push to the row of its score.

The ids of a trace and of its root span follow from the site and the number of the submission. So no row and no message
has them, and what any host does for the submission, at any time, is in its trace. Without `GAUNTLET_TRACES` nothing is
loaded and nothing sent; with it, no work fails or waits for the collector.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.db import transaction

from core.log_formatters import Id, current_log_ids, log_ids
from core.site_identity import identity

if TYPE_CHECKING:
    from core.span_export import SpanExport

log = logging.getLogger(__name__)


class SpanId(NamedTuple):
    """What names a span: its trace, and its own number in it."""

    trace: int
    span: int


@dataclass
class Span:
    """A step of a submission that began now. It has the ids of the log lines of this moment as attributes."""

    name: str
    attributes: dict[str, Id] = field(default_factory=lambda: current_log_ids(but="trace_id"))
    began: int = field(default_factory=time.time_ns)
    number: int = field(default_factory=lambda: secrets.randbits(64) or 1)
    ended: int = 0
    failed: bool = False

    def end(self, failure: BaseException | None = None) -> None:
        """Keep the time and the kind of a failure. Its text may quote anything, and stays in the log."""
        self.ended = time.time_ns()
        if failure is not None:
            self.failed = True
            self.attributes |= {"outcome": "failed", "error.type": type(failure).__name__}


@dataclass(frozen=True)
class _OpenSpan:
    """Where an open span belongs: below `parent`, in the trace of the first submission of `keys`; others are linked."""

    keys: Sequence[int]
    parent: SpanId
    span: Span


_open: ContextVar[_OpenSpan | None] = ContextVar("open_span", default=None)
_exports: dict[int, SpanExport] = {}
"""By process: no thread survives a fork, and processes must not share a connection."""


def root_span_id(submission: int) -> SpanId:
    """Return the ids of the trace of a submission and of its root span."""
    digest = sha256(f"{_site()}/{submission}".encode()).digest()
    return SpanId(int.from_bytes(digest[:16]), int.from_bytes(digest[16:24]))


@contextmanager
def span(name: str, submissions: Callable[[], Sequence[int]] | None = None, **attributes: Id) -> Iterator[None]:
    """Trace the block as a step of the submissions, by default of those of the enclosing span; of none, trace nothing.

    The span is in the trace of the first one. It has `attributes` and the ids of the log, and the lines of the log have
    the id of the trace. `submissions` is called only where traces are on.
    """
    open_span = _begin(name, submissions, attributes) if settings.TRACES else None
    if open_span is None:
        yield
        return
    token = _open.set(open_span)
    failure = None
    try:
        with log_ids(trace_id=f"{open_span.parent.trace:032x}"):
            yield
    except BaseException as error:
        failure = error
        raise
    finally:
        _open.reset(token)
        open_span.span.end(failure)
        with _never_failing():
            _export().send(open_span.span, open_span.parent, map(root_span_id, open_span.keys[1:]))


def set_attributes(**attributes: Id) -> None:
    """Add attributes to the span of the enclosing block, such as how it ended."""
    if (open_span := _open.get()) is not None:
        open_span.span.attributes.update(attributes)


def span_of_commit(name: str, submission: int, **attributes: Id) -> None:
    """Trace a step of a submission from now until the transaction is committed; nothing if it is not."""
    if settings.TRACES:
        step = Span(name)
        step.attributes.update(attributes)
        transaction.on_commit(partial(_committed, step, submission))


class RootSpan:
    """The root span of a trace and the steps below it, which begin before their submission has a number.

    Set `submission` when it has one. `end` sends them, or nothing if it got none.
    """

    def __init__(self, name: str) -> None:
        self.submission: int | None = None
        self._root, self._steps = Span(name), list[Span]()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Trace the block as a step."""
        step, failure = Span(name), None
        self._steps.append(step)
        try:
            yield
        except BaseException as error:
            failure = error
            raise
        finally:
            step.end(failure)

    def end(self) -> None:
        """End the root span, and send all."""
        if not settings.TRACES or self.submission is None:
            return
        with _never_failing():
            root = root_span_id(self.submission)
            self._root.number = root.span
            self._root.end()
            _export().send(self._root, SpanId(root.trace, 0))
            for step in self._steps:
                _export().send(step, root)


def close() -> None:
    """Send what this process has not sent yet, before it ends; for a few seconds at most."""
    if (export := _exports.get(os.getpid())) is not None:
        export.close()


def _begin(name: str, submissions: Callable[[], Sequence[int]] | None, attributes: dict[str, Id]) -> _OpenSpan | None:
    around = _open.get()
    with _never_failing():
        step = Span(name)
        step.attributes.update(attributes)
        if submissions is not None:
            of = submissions()
            return _OpenSpan(of, root_span_id(of[0]), step) if of else None
        if around is not None:
            return _OpenSpan(around.keys, SpanId(around.parent.trace, around.span.number), step)
    return None


def _committed(step: Span, submission: int) -> None:
    step.end()
    with _never_failing():
        _export().send(step, root_span_id(submission))


@contextmanager
def _never_failing() -> Iterator[None]:
    try:
        yield
    except Exception:  # of any kind: no work fails by its trace
        log.warning("a step is missing in a trace", exc_info=True)


def _export() -> SpanExport:
    process = os.getpid()
    if process not in _exports:
        from core.span_export import SpanExport  # noqa: PLC0415 - loads OpenTelemetry

        _exports.setdefault(process, SpanExport())
    return _exports[process]


@cache
def _site() -> str:
    return identity()
