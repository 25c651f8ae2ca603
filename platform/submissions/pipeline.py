"""Pipeline of a submission from received to ready or refused: one worker claims, builds and checks it."""

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
"""Reasons of a refusal that are user errors."""

log = logging.getLogger(__name__)


def advance(submission: int) -> None:
    """Build and check the next waiting submission; return it to the queue after a platform error.

    `submission` is the notified one, but the first in the queue is claimed, which may be another team's. Safe to call
    twice and concurrently: each submission is claimed by one caller. Does nothing while this host is out of service:
    the sweep notifies again.
    """
    if not host_checks.in_service():
        return
    worker = f"{settings.WORKER_NAME}/build/{os.getpid()}"
    for key in build_order.in_order(submission):
        build = build_queue.claim(key, worker)
        if build is not None:
            _advance(build)
            return


def _advance(build: Build) -> None:
    writer = LogWriter(build, player_builds.host_paths(build.submission).shorten)
    ids = log_ids(submission=build.submission_id, build=build.pk)
    with ids, _LeaseKeeper(build, writer) as keeper:
        try:
            _work(build, writer, keeper)
        except _ClaimLostError:
            build_queue.leave(build)
        except Exception as error:  # everything else is a platform error
            faults.report(log, error, "%s failed", build)
            close_old_connections()
            writer.write("Platform error. This does not count against your quota.")
            writer.close()
            outcome = build_queue.FAULT if host_checks.check_after(error) else build_queue.HOST
            build_queue.release_claim(build, outcome, _clean_text(str(error)))


class _ClaimLostError(Exception):
    """The submission was withdrawn, or the lease expired and another worker has it."""


class _LeaseKeeper:
    """Thread that renews the lease and stores the log while the worker is busy or waits."""

    def __init__(self, build: Build, writer: LogWriter) -> None:
        self._build = build
        self._writer = writer
        self._lost = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._keep,), name=f"keeper of {build}", daemon=True
        )

    def __enter__(self) -> _LeaseKeeper:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopped.set()
        self._thread.join()

    def require(self) -> None:
        """Raise `_ClaimLostError` if this worker lost the claim."""
        if self._lost.is_set():
            raise _ClaimLostError

    def log(self, line: str) -> None:
        """Write a line of the build's log; raise `_ClaimLostError` if this worker lost the claim."""
        self.require()
        self._writer.write(line)

    def _keep(self) -> None:
        due = time.monotonic() + RENEW_SECONDS
        try:
            while not self._stopped.wait(FLUSH_SECONDS):
                try:
                    self._writer.flush()
                    if time.monotonic() < due:
                        continue
                    due = time.monotonic() + RENEW_SECONDS
                    if not build_queue.hold(self._build):
                        self._lost.set()
                        return
                except Error:  # tried again soon; if it continues, the lease expires
                    log.warning("%s: the database is not available", self._build, exc_info=True)
                    connection.close()  # otherwise a broken connection stays broken
        finally:
            connection.close()


def _work(build: Build, writer: LogWriter, keeper: _LeaseKeeper) -> None:
    submission = build.submission
    stage = smoke_test(submission.repository.track.competition)
    try:
        player = player_builds.build(submission, keeper.log)
        close_old_connections()  # it was idle for a long time
        writer.flush()
        if not build_queue.begin_checks(build, stage.limit):
            raise _ClaimLostError
        writer.begin(LogChunk.Stage.SMOKE)
        _check(build, player, stage, writer, keeper)
    except Refusal as refusal:
        close_old_connections()
        shorten = player_builds.host_paths(submission).shorten
        problem = _clean_text(shorten(refusal.problem))
        writer.write(f"refused: {problem.splitlines()[0]}")
        writer.close()
        if not build_queue.refuse(build, _reason_of(refusal), problem, shorten(refusal.fix)):
            raise _ClaimLostError from refusal


def _check(build: Build, player: Player, stage: SmokeTest, writer: LogWriter, keeper: _LeaseKeeper) -> None:
    checks = stage.play(player, on_log=writer.write, on_piece=keeper.require)
    close_old_connections()
    rows = as_rows(checks)
    for check in checks:
        result = "not reached" if check.passed is None else "passed" if check.passed else "FAILED"
        writer.write(result + f"  {check.name}" + ("" if check.passed is None else f": {check.seen}"))
    writer.close()
    if all(check.passed for check in checks):
        done = build_queue.succeed(build, player, rows)
    else:
        problem, fix = what_failed(checks)
        done = build_queue.refuse(build, CHECK_FAILED, _clean_text(problem), fix, rows)
    if not done:
        raise _ClaimLostError


def _reason_of(refusal: Refusal) -> str:
    if isinstance(refusal, ManifestRefusal):
        return MANIFEST
    return BUILD_TOO_SLOW if isinstance(refusal, SlowBuildRefusal) else BUILD_FAILED


def _clean_text(text: str) -> str:
    """Clean a message of several lines, which may quote the output of a build."""
    return "\n".join(clean(line) for line in text.splitlines())
