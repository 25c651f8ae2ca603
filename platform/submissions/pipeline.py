"""The way of a submission from received to ready or refused: one worker takes it, builds it, checks it."""

from __future__ import annotations

import logging
import os
import threading
import time
from contextvars import copy_context
from types import TracebackType

from django.conf import settings
from django.db import Error, close_old_connections, connection

from core import faults
from core.errors import Refusal
from core.logs import log_ids
from evaluation.domain.errors import ManifestRefusal, SlowBuildRefusal
from submissions import build_order, build_queue, host_checks, player_builds
from submissions.build_logs import LogWriter, clean
from submissions.models import Build, LogChunk, Player
from submissions.smoke_test import SmokeTest, as_rows, smoke_test, what_failed

FLUSH_SECONDS = 0.5
RENEW_SECONDS = 10.0

MANIFEST, BUILD_FAILED, BUILD_TOO_SLOW, CHECK_FAILED = "manifest", "build_failed", "build_too_slow", "check_failed"
"""The reasons of a refusal that are the team's cause."""

log = logging.getLogger(__name__)


def advance(rung: int) -> None:
    """Bring the next submission that waits to its end, or back to received where something of ours failed.

    Each that was received is rung for once: whoever is rung for one takes up the one that comes first, which may be
    that of another team. Safe to call twice and at the same time: each submission is one caller's. Nobody takes up any
    while this host is out of service: the sweep calls again.
    """
    if not host_checks.in_service():
        return
    worker = f"{settings.WORKER_NAME}/build/{os.getpid()}"
    for key in build_order.in_order(rung):
        build = build_queue.claim(key, worker)
        if build is not None:
            _advance(build)
            return


def _advance(build: Build) -> None:
    writer = LogWriter(build, player_builds.host_paths(build.submission).shorten)
    ids = log_ids(submission=build.submission_id, build=build.pk)
    with ids, _Keeper(build, writer) as keeper:
        try:
            _work(build, writer, keeper)
        except _NoLongerOursError:
            build_queue.leave(build)
        except Exception as error:  # whatever it is, the team did not cause it
            faults.report(log, error, "%s failed", build)
            close_old_connections()
            writer.write("Something of ours failed. It costs the team nothing.")
            writer.close()
            outcome = build_queue.FAULT if host_checks.check_after(error) else build_queue.HOST
            build_queue.release_claim(build, outcome, _clean_text(str(error)))


class _NoLongerOursError(Exception):
    """The submission was withdrawn, or the lease ran out and another worker has it."""


class _Keeper:
    """Renews the lease and stores the log from a thread, while the worker is busy or waits."""

    def __init__(self, build: Build, writer: LogWriter) -> None:
        self._build = build
        self._writer = writer
        self._lost = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._keep,), name=f"keeper of {build}", daemon=True
        )

    def __enter__(self) -> _Keeper:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def require(self) -> None:
        """Raise where the work has become pointless."""
        if self._lost.is_set():
            raise _NoLongerOursError

    def log(self, line: str) -> None:
        """A line of the build's log; stops the build where it has become pointless."""
        self.require()
        self._writer.write(line)

    def _keep(self) -> None:
        due = time.monotonic() + RENEW_SECONDS
        try:
            while not self._over.wait(FLUSH_SECONDS):
                try:
                    self._writer.flush()
                    if time.monotonic() < due:
                        continue
                    due = time.monotonic() + RENEW_SECONDS
                    if not build_queue.hold(self._build):
                        self._lost.set()
                        return
                except Error:  # tried again in a moment; where that goes on, the lease runs out
                    log.warning("%s: the database is away", self._build, exc_info=True)
                    connection.close()  # else a connection that broke stays broken
        finally:
            connection.close()


def _work(build: Build, writer: LogWriter, keeper: _Keeper) -> None:
    submission = build.submission
    stage = smoke_test(submission.repository.track.competition)
    try:
        player = player_builds.build(submission, keeper.log)
        close_old_connections()  # it was idle for long
        writer.flush()
        if not build_queue.begin_checks(build, stage.limit):
            raise _NoLongerOursError
        writer.begin(LogChunk.Stage.SMOKE)
        _check(build, player, stage, writer, keeper)
    except Refusal as refusal:
        close_old_connections()
        shorten = player_builds.host_paths(submission).shorten
        problem = _clean_text(shorten(refusal.problem))
        writer.write(f"refused: {problem.splitlines()[0]}")
        writer.close()
        if not build_queue.refuse(build, _reason_of(refusal), problem, shorten(refusal.fix)):
            raise _NoLongerOursError from refusal


def _check(build: Build, player: Player, stage: SmokeTest, writer: LogWriter, keeper: _Keeper) -> None:
    checks = stage.play(player, on_log=writer.write, on_piece=keeper.require)
    close_old_connections()
    rows = as_rows(checks)
    for check in checks:
        stand = "not reached" if check.passed is None else "passed" if check.passed else "FAILED"
        writer.write(stand + f"  {check.name}" + ("" if check.passed is None else f": {check.seen}"))
    writer.close()
    if all(check.passed for check in checks):
        done = build_queue.succeed(build, player, rows)
    else:
        problem, fix = what_failed(checks)
        done = build_queue.refuse(build, CHECK_FAILED, _clean_text(problem), fix, rows)
    if not done:
        raise _NoLongerOursError


def _reason_of(refusal: Refusal) -> str:
    if isinstance(refusal, ManifestRefusal):
        return MANIFEST
    return BUILD_TOO_SLOW if isinstance(refusal, SlowBuildRefusal) else BUILD_FAILED


def _clean_text(text: str) -> str:
    """A message of several lines, which may quote what a build printed."""
    return "\n".join(clean(line) for line in text.splitlines())
