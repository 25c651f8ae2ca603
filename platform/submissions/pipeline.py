"""Pipeline of a submission from received to ready or rejected: one worker claims, builds and checks it."""

from __future__ import annotations

import logging
import os
import time

from django.conf import settings
from django.db import close_old_connections

from competitions.rules_reader import Rules
from core import faults
from core.errors import Refusal
from core.logs import log_ids
from evaluation.domain.errors import ManifestRefusal, SlowBuildRefusal
from submissions import build_order, build_queue, player_builds
from submissions.build_logs import LogWriter, clean
from submissions.formats import submission_formats
from submissions.models import Build, LogChunk, Player
from submissions.smoke_test import SmokeTest, as_rows, what_failed
from workers import host_health, lease
from workers.lease import LostClaimError

FLUSH_SECONDS = 0.5

MANIFEST, BUILD_FAILED, BUILD_TOO_SLOW, CHECK_FAILED = "manifest", "build_failed", "build_too_slow", "check_failed"
"""Reasons of a refusal that are user errors."""

log = logging.getLogger(__name__)


def advance(submission: int) -> None:
    """Build and check the next waiting submission; return it to the queue after a platform error.

    `submission` is the notified one, but the first in the queue is claimed, which may be another team's. Safe to call
    twice and concurrently: each submission is claimed by one caller. Does nothing while this host is out of service:
    the sweep notifies again.
    """
    if not host_health.in_service():
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
    with ids, _Heartbeat(build, writer) as heartbeat:
        try:
            _work(build, writer, heartbeat)
        except LostClaimError:  # withdrawn, or another worker has it
            log.info("%s was lost while it was built; nothing more was written", build)
        except Exception as error:  # everything else is a platform error
            faults.report(log, error, "%s failed", build)
            close_old_connections()
            writer.write("Platform error. This does not count against your quota.")
            writer.close()
            outcome = build_queue.FAULT if host_health.check_after(error) else build_queue.HOST
            build_queue.release_claim(build, outcome, _clean_text(str(error)))


class _Heartbeat(lease.Heartbeat):
    """The heartbeat of a builder, which also stores the log."""

    def __init__(self, build: Build, writer: LogWriter) -> None:
        super().__init__(FLUSH_SECONDS)
        self._build = build
        self._writer = writer
        self._renewed = time.monotonic()
        self.hold(build)

    def require(self) -> None:
        """Raise `LostClaimError` if this worker lost the claim."""
        if not self.holds(self._build):
            raise LostClaimError

    def log(self, line: str) -> None:
        """Write a line of the build's log; raise `LostClaimError` if this worker lost the claim."""
        self.require()
        self._writer.write(line)

    def beat(self) -> None:
        """Store the log, and renew the lease when it is due."""
        self._writer.flush()
        if time.monotonic() >= self._renewed + lease.BEAT_SECONDS:
            super().beat()
            self._renewed = time.monotonic()


def _work(build: Build, writer: LogWriter, heartbeat: _Heartbeat) -> None:
    submission = build.submission
    competition = submission.repository.track.competition
    format_ = submission_formats.of(competition)
    stage = format_.smoke_test(competition)
    try:
        player = format_.build(submission, heartbeat.log)
        close_old_connections()  # it was idle for a long time
        writer.flush()
        if not build_queue.begin_checks(build, stage.limit):
            raise LostClaimError
        writer.begin(LogChunk.Stage.SMOKE)
        _check(build, player, stage, writer, heartbeat)
    except Refusal as refusal:
        close_old_connections()
        shorten = player_builds.host_paths(submission).shorten
        problem = _clean_text(shorten(refusal.problem))
        writer.write(f"rejected: {problem.splitlines()[0]}")
        writer.close()
        if not build_queue.refuse(build, _reason_of(refusal), problem, shorten(refusal.fix)):
            raise LostClaimError from refusal


def _check(build: Build, player: Player, stage: SmokeTest[Rules], writer: LogWriter, heartbeat: _Heartbeat) -> None:
    checks = stage.play(player, on_log=writer.write, on_piece=heartbeat.require)
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
        raise LostClaimError


def _reason_of(refusal: Refusal) -> str:
    if isinstance(refusal, ManifestRefusal):
        return MANIFEST
    return BUILD_TOO_SLOW if isinstance(refusal, SlowBuildRefusal) else BUILD_FAILED


def _clean_text(text: str) -> str:
    """Clean a message of several lines, which may quote the output of a build."""
    return "\n".join(clean(line) for line in text.splitlines())
