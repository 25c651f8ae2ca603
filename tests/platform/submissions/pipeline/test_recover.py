"""Lost workers, withdrawals and platform errors: a submission always continues or ends, and nothing is doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from competitions.models import SampleSet
from core import clock
from core.errors import Fault
from core.models import Event
from evaluation.builder.base import LogLine
from evaluation.domain.errors import SlowBuildRefusal
from evaluation.formats.query.catalogue import find_baseline
from repositories.models import Repository
from submissions import build_queue, pipeline, quota_ledger, services, state_timeouts
from submissions.models import Build, Player, QuotaSlot, Submission
from submissions.player_builds import build_limit
from submissions.quota import REFUNDED_FAULTS
from submissions.quota_ledger_check import differing_slots
from submissions.selectors import whole_log
from workers import lease, queue
from workers.fault_record import MAX_FAULTS, PAUSES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sample_sets")]

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock

Submit = Callable[..., Submission]
Notifications = list[tuple[str, dict[str, int]]]
BuildWith = Callable[[Callable[[LogLine], None]], None]


@pytest.fixture
def submission(submit: Submit) -> Submission:
    """A valid, received submission."""
    return submit("model", find_baseline("numpy-classifier").repository())


def advanced(submission: Submission) -> Submission:
    pipeline.advance()
    submission.refresh_from_db()
    return submission


def log_of(build: Build) -> str:
    return "".join(whole_log(build))


def slot_of(submission: Submission) -> str:
    return QuotaSlot.objects.get(submission=submission).state


def talk_for_ever(on_log: LogLine) -> None:
    while True:
        on_log("still here")
        time.sleep(0.01)


def test_an_endless_build_is_a_platform_error_at_its_deadline(
    submission: Submission, build_with: BuildWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(on_log: LogLine) -> None:
        later = timezone.now() + build_limit() + build_queue.BUILD_MARGIN
        Build.objects.update(lease_until=later + timedelta(hours=1))
        monkeypatch.setattr(clock, "database_now", lambda: later)
        build_queue.sweep()
        monkeypatch.setattr(lease, "BEAT_SECONDS", 0.0)  # from now on: the worker notices that it lost the build
        talk_for_ever(on_log)

    build_with(hang)
    monkeypatch.setattr(lease, "BEAT_SECONDS", 3600.0)  # otherwise the lease may be renewed before the sweep
    advanced(submission)

    assert submission.state == Submission.State.RECEIVED
    assert submission.builds.get().outcome == "overdue"


def test_a_builder_keeps_what_it_claims_during_a_sweep(
    submission: Submission, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    Submission.objects.update(state_since=the_clock.at, deadline=the_clock.at + state_timeouts.RECEIVED)
    the_clock.forward(days=1, minutes=1)
    overdue = build_queue._overdue

    def later(late: Submission, now: datetime) -> None:
        assert build_queue.claim(late.pk, "arena-1/build/1") is not None
        overdue(late, now)

    monkeypatch.setattr(build_queue, "_overdue", later)
    build_queue.sweep()
    build = Build.objects.get()
    assert (build.outcome, build.finished_at) == ("", None)
    assert build.held().exists()


def test_a_submission_without_a_builder_stays_in_the_queue_and_is_refunded(
    submission: Submission, the_clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    Submission.objects.update(state_since=the_clock.at, deadline=the_clock.at + state_timeouts.RECEIVED)
    for _ in range(2):
        the_clock.forward(days=1, minutes=1)
        build_queue.sweep()
        build_queue.sweep()

    submission.refresh_from_db()
    assert (submission.state, submission.cause) == ("received", "")
    slot = QuotaSlot.objects.get(submission=submission)
    assert (slot.state, slot.reason) == ("refunded", "overdue")
    assert Event.objects.filter(verb="refund").count() == 1
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 2, "one error a day for the operators"
    assert list(differing_slots()) == []
    assert advanced(submission).state == Submission.State.READY


def test_a_killed_worker_costs_only_an_attempt(
    submission: Submission, notifications: Notifications, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = subprocess.Popen([sys.executable, "-c", textwrap.dedent(WORKER)], env=_as_here(settings))
    try:
        until(lambda: Build.objects.filter(log_chunks__text__contains="half done").exists())
    finally:
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()

    assert queue.expire() == 0
    submission.refresh_from_db()
    assert submission.state == Submission.State.BUILDING, "the lease still runs"
    monkeypatch.setattr(clock, "database_now", lambda: timezone.now() + Build.LEASE)
    assert [queue.expire(), queue.expire()] == [1, 0]

    assert notifications == [("submissions.build", {"submission": submission.pk})]
    assert advanced(submission).state == Submission.State.READY, submission.problem
    assert [build.outcome for build in submission.builds.all()] == ["lost", "ready"]
    assert log_of(submission.builds.get(attempt=1)) == "half done\n"
    assert Player.objects.count() == 1
    assert [notify for notify in notifications if notify[0] == "leaderboards.evaluate"] == [
        ("leaderboards.evaluate", {"submission": submission.pk})
    ]
    assert slot_of(submission) == QuotaSlot.State.USED


def test_withdrawal_stops_a_build_quietly(
    submission: Submission, notifications: Notifications, alice: User, build_with: BuildWith
) -> None:

    def withdrawn(on_log: LogLine) -> None:
        services.withdraw(submission=submission, by=alice)
        talk_for_ever(on_log)

    build_with(withdrawn)
    advanced(submission)
    build_queue.sweep()

    assert submission.state == Submission.State.WITHDRAWN
    assert submission.builds.get().outcome == "withdrawn"
    assert "leaderboards.evaluate" not in dict(notifications)


def test_a_worker_without_its_lease_writes_nothing(
    submission: Submission, build_with: BuildWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stall(on_log: LogLine) -> None:
        monkeypatch.setattr(lease.Heartbeat, "require", lambda heartbeat, row: None)
        Build.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        queue.expire()
        on_log("too late")
        raise SlowBuildRefusal("too late", fix="be quicker")

    build_with(stall)
    # otherwise the lease may be renewed before the sweep, also by a flush of the log
    monkeypatch.setattr(lease, "BEAT_SECONDS", 3600.0)
    monkeypatch.setattr(pipeline, "FLUSH_SECONDS", 3600.0)
    advanced(submission)

    assert submission.state == Submission.State.RECEIVED
    build = submission.builds.get()
    assert (build.outcome, log_of(build)) == ("lost", "")


def test_a_lease_renewed_during_the_sweep_is_kept(submission: Submission, monkeypatch: pytest.MonkeyPatch) -> None:
    build = build_queue.claim(submission.pk, "w")
    assert build is not None
    Build.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    lock = quota_ledger.lock

    def renew_first(repository: Repository) -> None:
        build.renew()
        lock(repository)

    monkeypatch.setattr(quota_ledger, "lock", renew_first)
    assert queue.expire() == 0

    build.refresh_from_db()
    assert (build.finished_at, build.outcome) == (None, "")


def test_a_submission_that_cannot_be_swept_does_not_stop_the_others(
    submission: Submission, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = submit("untargeted", find_baseline("gaussian-noise").repository())
    Submission.objects.update(deadline=timezone.now() - timedelta(seconds=1))
    lock = quota_ledger.lock

    def broken_for_one(repository: Repository) -> None:
        if repository.pk == submission.repository_id:
            raise OSError("no")
        lock(repository)

    monkeypatch.setattr(quota_ledger, "lock", broken_for_one)
    build_queue.sweep()

    assert slot_of(other) == QuotaSlot.State.REFUNDED
    assert slot_of(submission) == QuotaSlot.State.USED


def test_the_lease_is_renewed_after_the_database_is_available_again(
    submission: Submission, build_with: BuildWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = threading.Event()
    errors = [InterfaceError("the connection is closed"), OperationalError("the server ended it")]
    renew = Build.renew

    def renew_when_back(build: Build, now: datetime | None = None) -> bool:
        if errors:
            raise errors.pop()
        back.set()
        return renew(build, now)

    monkeypatch.setattr(Build, "renew", renew_when_back)
    build_with(lambda on_log: on_log("renewed" if back.wait(20) else "never renewed"))
    advanced(submission)

    assert "never renewed" not in log_of(submission.builds.get())
    assert submission.state == Submission.State.READY


@pytest.mark.usefixtures("no_pauses")
def test_platform_errors_are_retried_and_cost_the_team_nothing(
    submission: Submission, notifications: Notifications, build_with: BuildWith
) -> None:
    def fail(on_log: LogLine) -> None:
        raise Fault("/secret/path is away")

    build_with(fail)
    states = [advanced(submission).state for _ in range(MAX_FAULTS)]

    assert states == ["received", "received", "rejected"]
    assert not submission.builds.exclude(checks_began_at=None).exists()
    assert (submission.cause, submission.reason) == (Submission.Cause.PLATFORM, "fault")
    assert "/secret" not in submission.problem + log_of(submission.builds.first() or Build())
    assert slot_of(submission) == QuotaSlot.State.REFUNDED
    assert Event.objects.filter(verb="fault", subject=f"submission:{submission.pk}").count() == MAX_FAULTS
    assert notifications == [("submissions.build", {"submission": submission.pk})] * (MAX_FAULTS - 1)


def test_a_submission_waits_after_a_platform_error(
    submission: Submission, notifications: Notifications, build_with: BuildWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(on_log: LogLine) -> None:
        raise Fault("/secret/path is away")

    build_with(fail)
    for number in (1, 2):
        assert advanced(submission).builds.count() == number
        assert notifications == [], "what failed at once would fail at once again"
        assert advanced(submission).builds.count() == number
        ended = timezone.now() + sum(PAUSES[:number], timedelta(0))
        monkeypatch.setattr(clock, "database_now", lambda ended=ended: ended)
    assert advanced(submission).state == Submission.State.REJECTED


def test_the_sweep_notifies_of_no_submission_that_waits_after_a_fault(
    submission: Submission, notifications: Notifications, build_with: BuildWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(on_log: LogLine) -> None:
        raise Fault("/secret/path is away")

    build_with(fail)
    advanced(submission)
    monkeypatch.setattr(clock, "database_now", lambda: timezone.now() + PAUSES[0])
    advanced(submission)  # it waits two minutes now
    for seconds, sent in ((100, []), (140, [("submissions.build", {"submission": submission.pk})])):
        monkeypatch.setattr(clock, "database_now", lambda seconds=seconds: timezone.now() + timedelta(seconds=seconds))
        build_queue.sweep()
        assert notifications == sent


def test_a_builder_that_is_stopped_frees_its_submission_at_once(
    submission: Submission, notifications: Notifications, build_with: BuildWith
) -> None:
    def stop(on_log: LogLine) -> None:
        raise SystemExit

    build_with(stop)
    with pytest.raises(SystemExit):
        pipeline.advance()
    assert submission.builds.get().outcome == "stopped"
    assert notifications == [("submissions.build", {"submission": submission.pk})]
    build_with(lambda on_log: None)
    assert advanced(submission).state == Submission.State.READY
    assert not Event.objects.filter(verb="fault").exists()
    assert list(differing_slots()) == []


@pytest.mark.usefixtures("no_pauses")
def test_after_ten_refunds_a_day_the_next_platform_error_waits_for_an_organiser(
    submission: Submission, build_with: BuildWith
) -> None:
    for number in range(REFUNDED_FAULTS):
        QuotaSlot.objects.create(
            repository=submission.repository,
            commit=f"{number:040}",
            tag=f"earlier-{number}",
            reserved_by=submission.submitted_by,
            reserved_at=timezone.now(),
            settled_at=timezone.now(),
            state=QuotaSlot.State.REFUNDED,
            reason=quota_ledger.FAULT,
        )

    def fail(on_log: LogLine) -> None:
        raise Fault("the engine is away")

    build_with(fail)
    for _ in range(MAX_FAULTS):
        advanced(submission)

    assert (submission.state, submission.cause) == ("rejected", Submission.Cause.PLATFORM)
    assert slot_of(submission) == QuotaSlot.State.USED
    assert "an organiser must confirm the refund of the slot" in submission.fix
    assert "does not count against your quota" not in submission.fix


def test_a_competition_without_samples_is_a_platform_error(submission: Submission) -> None:
    SampleSet.objects.all().delete()

    assert advanced(submission).state == Submission.State.RECEIVED
    assert submission.builds.get().outcome == "fault"


def test_one_of_two_concurrent_calls_claims_it(submission: Submission) -> None:

    assert build_queue.claim(submission.pk, "one") is not None
    assert build_queue.claim(submission.pk, "two") is None
    assert submission.builds.count() == 1


def test_the_sweep_notifies_again_of_waiting_submissions(
    submission: Submission, notifications: Notifications, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_queue.sweep()
    early = list(notifications)
    monkeypatch.setattr(clock, "database_now", lambda: timezone.now() + build_queue.NOTIFY_AGAIN)
    build_queue.sweep()

    assert early == []
    assert notifications == [("submissions.build", {"submission": submission.pk})]


WORKER = """
    import os, sys, time
    from pathlib import Path
    from django.conf import settings
    settings.DATABASES["default"]["NAME"] = os.environ["TEST_DATABASE"]
    settings.REPOSITORIES, settings.CHECKOUTS, objects = map(Path, os.environ["TEST_FOLDERS"].split(":"))
    settings.STORAGES["objects"]["OPTIONS"]["location"] = objects
    settings.SANDBOX = "process"
    import django
    django.setup()
    from evaluation.builder.in_place_builder import InPlaceBuilder
    from formats.query.matches import player_builds
    from submissions import pipeline

    class Slow(InPlaceBuilder):
        def build(self, source, *, on_log):
            on_log("half done")
            time.sleep(600)

    player_builds.any_year_builder = lambda name, store, cache: Slow()
    pipeline.advance()
"""


def _as_here(settings: Settings) -> dict[str, str]:
    folders = (settings.REPOSITORIES, settings.CHECKOUTS, settings.STORAGES["objects"]["OPTIONS"]["location"])
    return dict(os.environ) | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "GAUNTLET_STATE": str(settings.STATE),
        "TEST_DATABASE": str(connection.settings_dict["NAME"]),
        "TEST_FOLDERS": ":".join(map(str, folders)),
    }


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.05)
