"""The queue of runs: claims, leases, faults and the order of the teams."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from competitions.models import Competition, Entry
from core import clock
from core.errors import Refusal
from evaluation.formats.transfer.runner.run_directories import workspace
from evaluation.sandbox.host_process import HostProcess, host_name
from formats.transfer.tournaments import run_queue, services
from formats.transfer.tournaments.models import AttackRun, Run, Tournament
from formats.transfer.tournaments.run_work import runs
from formats.transfer.tournaments.selectors import KINDS, AnyRun, stuck_runs
from submissions.models import Submission
from tests.platform.claims import claim_run
from tests.platform.conftest import FakeClock
from tests.platform.formats.transfer.tournaments.conftest import CHECKSUM, COPY
from tests.platform.formats.transfer.tournaments.results import result
from workers import tasks
from workers.fault_record import PAUSES
from workers.lease import LostClaimError
from workers.models import Worker, WorkerTime
from workers.queue import idle_workers
from workers.sandboxes import open_sandbox

Submit = Callable[..., Submission]


@pytest.fixture
def tournament(transfer: Competition, submit: Submit) -> Tournament:
    """One attack of the Owls, whose two batches wait."""
    transfer.tracks.update(baselines=[])
    submit("owls", "attack", COPY)
    made = services.make_tournament(transfer)
    services.advance(made)
    return made


def claimed(worker: str = "host/0") -> AttackRun:
    run = claim_run(worker)
    assert isinstance(run, AttackRun)
    return run


def test_each_batch_is_claimed_once_and_its_result_kept(tournament: Tournament) -> None:
    first, second = claimed(), claimed()
    assert {first.batch, second.batch} == {0, 1}
    assert claim_run("host/1") is None
    run_queue.commit(first, result(first))
    first.refresh_from_db()
    assert (first.state, first.made, first.lease_until) == (Run.State.PLAYED, 4, None)


def test_a_result_is_written_once(tournament: Tournament) -> None:
    run = claimed()
    run_queue.commit(run, result(run))
    with pytest.raises(LostClaimError):
        run_queue.commit(run, result(run) | {"made": 0})
    assert AttackRun.objects.get(pk=run.pk).made == run.images


def test_a_lost_worker_writes_nothing(tournament: Tournament, the_clock: FakeClock) -> None:
    AttackRun.objects.filter(batch=1).delete()
    lost = claimed()
    the_clock.forward(seconds=31)
    again = claimed()
    assert again.pk == lost.pk
    with pytest.raises(LostClaimError):
        run_queue.commit(lost, result(lost) | {"made": 0})
    run_queue.commit(again, result(again))
    again.refresh_from_db()
    assert (again.made, again.faults) == (4, 1)


def test_a_lease_that_is_renewed_during_the_sweep_is_kept(tournament: Tournament, the_clock: FakeClock) -> None:
    """The sweep has read that it expired; the worker comes between its SELECT and its UPDATE."""
    run = claimed()
    the_clock.forward(seconds=31)
    (read,) = AttackRun.expired()
    assert run.renew()
    assert not runs._count_fault(read, "no heartbeat from host/0", expired=True)
    run_queue.commit(run, result(run))
    run.refresh_from_db()
    assert (run.state, run.faults) == (Run.State.PLAYED, 0)


def test_a_run_is_given_up_after_three_faults_and_can_be_replayed(tournament: Tournament, the_clock: FakeClock) -> None:
    AttackRun.objects.filter(batch=1).delete()
    for worker in ("host/0", "other/0", "host/1"):
        run = claimed(worker)
        assert runs.release(run, fault="the disk is full")
        assert claim_run("host/0") is None  # it waits
        the_clock.forward(seconds=121)
    run.refresh_from_db()
    assert (run.state, run.fault) == (Run.State.FAILED, "the disk is full")
    runs.replay(run, None, "the disk was emptied")
    assert claimed().pk == run.pk
    with pytest.raises(Refusal, match="has not failed"):
        runs.replay(run, None)


def test_with_one_host_a_run_waits_longer_each_time(tournament: Tournament, the_clock: FakeClock) -> None:
    AttackRun.objects.filter(batch=1).delete()
    waits = []
    for slot in range(5):
        run = claimed(f"host/{slot}")
        runs.release(run, fault="the disk is full")
        run.refresh_from_db()
        assert run.paused_until is not None
        waits.append(run.paused_until - the_clock.at)
        the_clock.at = run.paused_until
    assert waits == [*PAUSES, PAUSES[-1]]
    assert (run.state, run.fault_hosts) == (Run.State.WAITING, {"host": 5})
    assert list(stuck_runs(AttackRun)) == [run]
    runs.release(claimed("other/0"), fault="the disk is full")
    run.refresh_from_db()
    assert run.state == Run.State.FAILED


def test_a_failure_of_the_host_does_not_count(tournament: Tournament, the_clock: FakeClock) -> None:
    AttackRun.objects.filter(batch=1).delete()
    for host in ("a", "b", "c"):
        run = claimed(f"{host}/0")
        runs.release(run, fault="no such object", host_failed=True)
        the_clock.forward(hours=1)
    run.refresh_from_db()
    assert (run.state, run.faults, run.host_faults, run.fault) == (Run.State.WAITING, 0, 3, "no such object")
    assert list(stuck_runs(AttackRun)) == [run]


def test_an_organiser_gives_a_run_up_or_lets_it_be_tried_now(
    tournament: Tournament, the_clock: FakeClock, root_user: User
) -> None:
    AttackRun.objects.filter(batch=1).delete()
    run = AttackRun.objects.get()
    for act in (runs.give_up, runs.retry_now):
        with pytest.raises(Refusal, match="does not wait after a fault"):
            act(run, root_user)
    runs.release(claimed(), fault="the disk is full")
    assert claim_run("host/0") is None
    runs.retry_now(run, root_user, "it is empty")
    runs.release(claimed(), fault="the disk is full")
    runs.give_up(run, root_user, "it is broken")
    run.refresh_from_db()
    assert run.state == Run.State.FAILED


def test_a_stopped_worker_frees_its_run_without_a_fault(tournament: Tournament) -> None:
    AttackRun.objects.filter(batch=1).delete()
    run = claimed()
    runs.release(run)
    again = claimed()
    assert (again.pk, again.faults) == (run.pk, 0)


def test_the_team_that_used_less_is_served_first(tournament: Tournament, submit: Submit) -> None:
    run = claimed()
    run_queue.commit(run, result(run) | {"seconds": 100.0})
    submit("bats", "attack", f"{COPY}\n# of the bats")
    services.advance(tournament)
    order = [claimed().entry.team.slug for _ in range(3)]  # type: ignore[union-attr]
    assert order == ["bats", "owls", "bats"] or order == ["bats", "bats", "owls"]


def test_a_claim_sums_no_runs(tournament: Tournament, submit: Submit, the_clock: FakeClock) -> None:
    """The use of each team is counted by the hour, when its runs are committed."""
    run = claimed()
    the_clock.forward(seconds=20)
    run_queue.commit(run, result(run))
    submit("bats", "attack", f"{COPY}\n# of the bats")
    services.advance(tournament)
    with CaptureQueriesContext(connection) as queries:
        assert claimed().entry != run.entry
    assert [each["sql"] for each in queries if "SUM(" in each["sql"] and "worker" not in each["sql"]] == []
    assert list(WorkerTime.objects.values_list("entry", "seconds")) == [(run.entry_id, 20.0)]


def test_teams_whose_runs_are_taken_back_together_are_charged_in_a_fixed_order(
    tournament: Tournament, submit: Submit, the_clock: FakeClock
) -> None:
    """Two transactions that take back runs of the same teams do not wait for each other."""
    submit("bats", "attack", f"{COPY}\n# of the bats")
    services.advance(tournament)
    entries = sorted(claimed(f"host/{number}").entry_id or 0 for number in range(2))
    # the run of the later entry has the lower number
    first, second = AttackRun.objects.filter(state=Run.State.CLAIMED).order_by("pk")
    AttackRun.objects.filter(pk=first.pk).update(entry=entries[1])
    AttackRun.objects.filter(pk=second.pk).update(entry=entries[0])
    the_clock.forward(seconds=20)
    with transaction.atomic():
        run_queue.take_back([tournament])
    assert list(WorkerTime.objects.order_by("pk").values_list("entry", "seconds")) == [(key, 20.0) for key in entries]


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_has_the_whole_order_of_the_queue(kind: type[AnyRun]) -> None:
    """Without its end, a claim would sort all waiting runs of a team that were requested at the same time."""
    order = ["id" if name == "pk" else name.removesuffix("_id") for name in run_queue.IN_ORDER]
    assert ["state", "priority", *order] in [index.fields for index in kind._meta.indexes]


def test_runs_of_a_team_of_low_priority_come_last(tournament: Tournament, submit: Submit) -> None:
    Entry.objects.filter(team__slug="owls").update(low_priority=True)
    submit("bats", "attack", f"{COPY}\n# of the bats")
    services.advance(tournament)
    assert [claimed().entry.team.slug for _ in range(4)] == ["bats", "bats", "owls", "owls"]  # type: ignore[union-attr]


def test_the_later_team_pays_for_the_runs_of_a_defence(tournament: Tournament, submit: Submit) -> None:
    for _ in range(2):
        run = claimed()
        run_queue.commit(run, result(run))
    submit("bats", "defence", CHECKSUM)
    services.advance(tournament)
    labelling = claim_run("host/0")
    assert labelling is not None
    assert labelling.entry is not None
    assert labelling.entry.team.slug == "bats"


def test_a_tournament_has_one_notification_at_a_time(
    tournament: Tournament,
    submit: Submit,
    notifications: list[tuple[str, dict[str, int]]],
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]],
) -> None:
    """Each worker passes it on: more would wait in the broker before those of the query format."""
    now = clock.database_now()
    Worker.objects.create(name="host/0", worker_class="cpu", started_at=now, last_seen_at=now)
    notifications.clear()
    with django_capture_on_commit_callbacks(execute=True):
        submit("bats", "attack", f"{COPY}\n# of the bats")
        services.advance(tournament)  # the runs of the Owls wait already
        claimed()
        tasks.sweep()  # and somebody plays
    assert ("workers.play", {}) not in notifications


def test_the_sweep_notifies_a_worker_if_nobody_plays(
    tournament: Tournament,
    notifications: list[tuple[str, dict[str, int]]],
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]],
) -> None:
    monkeypatch.setattr(tasks, "_process", tasks._WorkerProcessState())
    notifications.clear()
    with django_capture_on_commit_callbacks(execute=True):
        tasks.sweep()
        tasks.sweep()
    assert notifications.count(("workers.play", {})) == 1


def test_a_worker_that_missed_heartbeats_no_longer_plays(tournament: Tournament, the_clock: FakeClock) -> None:
    """Others are notified of what waits before its lease expires."""
    now = clock.database_now()
    Worker.objects.create(name="host/0", worker_class="cpu", started_at=now, last_seen_at=now)
    run = claimed()
    for seconds, idle in ((0, 0), (14, 0), (16, 1)):
        run.renew()
        the_clock.forward(seconds=seconds)
        assert idle_workers() == idle
    runs.release(run)
    assert idle_workers() == 1


@pytest.mark.django_db
def test_files_of_a_killed_worker_are_removed_by_the_next_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold secret samples."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with workspace(open_sandbox()) as places:
        own = HostProcess.current()
        (places[0].parent / "runner").write_text(f"{host_name()}:{own.pid}:{own.started + 1}")
        (places[1] / "IMG000000.png").touch()
        tasks.play()
        assert not places[0].parent.exists()
