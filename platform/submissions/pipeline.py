"""Pipeline of a submission from received to ready or rejected: one worker claims, builds and checks it."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from django.conf import settings
from django.db import close_old_connections

from competitions.rules_reader import Rules
from core import event_log, submission_traces
from core.errors import HostFault, Refusal
from evaluation.domain.errors import HostRefusal, ManifestRefusal, SlowBuildRefusal
from evaluation.domain.smoke_test_result import SmokeCheck
from submissions import build_order, build_queue, player_builds, smoke_test_pictures
from submissions.build_logs import LogWriter, clean
from submissions.build_outcomes import READY
from submissions.formats import submission_formats
from submissions.local_check_command import local_check
from submissions.models import Build, LogChunk, Player
from submissions.selectors import BUILD_ERROR
from submissions.smoke_test import SmokeTest, as_rows, what_failed
from workers import host_health, lease, queue
from workers.lease import LostClaimError
from workers.models import Worker
from workers.worker_loop import work_on

FLUSH_SECONDS = 0.5

MOST_OF_TRACEBACK = 8000
"""Number of its last characters that the event of a platform error keeps."""

MANIFEST, BUILD_FAILED, BUILD_TOO_SLOW, CHECK_FAILED = "manifest", "build_failed", "build_too_slow", "check_failed"
"""Reasons of a refusal that are user errors."""


def advance() -> None:
    """Build and check the next waiting submission; return it to the queue after a platform error.

    Safe to call twice and concurrently: each submission is claimed by one caller. Does nothing while this host is out
    of service: the sweep notifies again.
    """
    if not host_health.in_service():
        return
    # not recorded: the site counts and wakes only workers that play by their rows
    builder = Worker(name=f"{settings.WORKER_NAME}/build/{os.getpid()}", worker_class=settings.WORKER_CLASS)
    claimed = queue.claim(builder, build_order.BUILD)
    if claimed is not None:
        with _Heartbeat() as heartbeat:
            work_on(claimed, heartbeat)


class BuildSession:
    """The build and the smoke test of one submission."""

    def __init__(self, build: Build, heartbeat: lease.Heartbeat) -> None:
        self._heartbeat = heartbeat
        self.writer = LogWriter(build, player_builds.host_paths(build.submission).shorten)

    def play(self, claim: Build) -> None:
        """Build and check a submission; raise `LostClaimError`, also if it was withdrawn."""
        try:
            _work(claim, self.writer, partial(self._heartbeat.require, claim))
        except LostClaimError:
            raise
        except Exception as failure:
            close_old_connections()
            trace = clean_text("".join(traceback.format_exception(failure)))
            event_log.record(BUILD_ERROR, claim.submission, attempt=claim.attempt, traceback=trace[-MOST_OF_TRACEBACK:])
            self.writer.write("Platform error. This does not count against your quota.")
            self.writer.close()
            raise

    def stop(self) -> None:
        """Do nothing: each line of the log and each piece asks whether the claim is held."""

    def claim_next(self) -> Build | None:
        """Return None: the worker returns to its Celery queues, which have one message for each submission."""
        return None


class _Heartbeat(lease.Heartbeat):
    """The heartbeat of a builder, which also stores the log."""

    def __init__(self) -> None:
        super().__init__(FLUSH_SECONDS)
        self._renewed = time.monotonic()

    def renew(self) -> None:
        """Renew the lease when it is due."""
        if time.monotonic() >= self._renewed + lease.BEAT_SECONDS:
            super().renew()
            self._renewed = time.monotonic()


def _work(build: Build, writer: LogWriter, require: Callable[[], None]) -> None:
    """Build and check; `require` raises `LostClaimError` if this worker lost the claim."""

    def log_line(line: str) -> None:
        require()
        writer.write(line)

    submission = build.submission
    competition = submission.repository.track.competition
    format_ = submission_formats.of(competition)
    stage = format_.smoke_test(competition)
    try:
        with submission_traces.span("build"):
            player = format_.build(submission, log_line)
        close_old_connections()  # it was idle for a long time
        writer.flush()
        if not build_queue.begin_checks(build, stage.limit):
            raise LostClaimError
        writer.begin(LogChunk.Stage.SMOKE)
        _check(build, player, stage, writer, require)
    except HostRefusal as refusal:  # another host may have what this one lacks
        raise HostFault(f"this host is misconfigured: {refusal}") from refusal
    except Refusal as refusal:
        close_old_connections()
        shorten = player_builds.host_paths(submission).shorten
        problem = clean_text(shorten(refusal.problem))
        writer.write(f"rejected: {problem.splitlines()[0]}")
        writer.close()
        reason = _reason_of(refusal)
        if not build_queue.refuse(build, reason, problem, clean_text(shorten(refusal.fix))):
            raise LostClaimError from refusal
        submission_traces.set_attributes(outcome=reason)


def _check(
    build: Build, player: Player, stage: SmokeTest[Rules], writer: LogWriter, require: Callable[[], None]
) -> None:
    with submission_traces.span("smoke test"):
        played = stage.play(player, on_log=writer.write, on_piece=require)
    checks = [_cleaned(check) for check in played.checks]
    close_old_connections()
    smoke_test_pictures.keep(build, played.pictures)
    rows = as_rows(checks)
    for check in checks:
        result = "not reached" if check.passed is None else "passed" if check.passed else "FAILED"
        writer.write(result + f"  {check.name}" + ("" if check.passed is None else f": {check.seen}"))
    writer.close()
    if all(check.passed for check in checks):
        outcome, done = READY, build_queue.succeed(build, player, rows)
    else:
        problem, fix = what_failed(checks, local_check(stage.competition))
        outcome, done = CHECK_FAILED, build_queue.refuse(build, CHECK_FAILED, problem, fix, rows)
    if not done:
        raise LostClaimError
    submission_traces.set_attributes(outcome=outcome)


def _reason_of(refusal: Refusal) -> str:
    if isinstance(refusal, ManifestRefusal):
        return MANIFEST
    return BUILD_TOO_SLOW if isinstance(refusal, SlowBuildRefusal) else BUILD_FAILED


def _cleaned(check: SmokeCheck) -> SmokeCheck:
    """Return a check with the texts that may quote the output of the player cleaned."""
    seen, headline, fix = map(clean_text, (check.seen, check.headline, check.fix))
    return replace(check, seen=seen, headline=headline, fix=fix)


def clean_text(text: str) -> str:
    """Clean a message of several lines, which may quote the output of a build."""
    return "\n".join(clean(line) for line in text.splitlines())
