"""What every kind of work promises to the queue and to a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum

from accounts.models import User
from competitions.models import RulesVersion, SampleSet
from core import clock
from formats.curves import requests_and_scores
from formats.curves.best_known.released_models import NEEDED
from repositories.models import Repository
from rounds.models import Release, Round
from tests.platform.conftest import FakeClock
from tests.platform.formats.curves.test_benchmarks import ALL, Stage, stage
from tests.platform.formats.curves.test_best_known import Released, published
from tests.platform.formats.query.challenges.requests import request_challenges
from tests.platform.formats.transfer.tournaments.kinds import KINDS, Kind
from tests.platform.other_process import database_url
from workers import queue
from workers.fault_record import MAX_FAULTS, PAUSES
from workers.lease import BEAT_SECONDS, LostClaimError
from workers.models import Worker, WorkerTime
from workers.queue import Claimed
from workers.team_queue_order import uses
from workers.work_kind_interface import Work, kinds

__all__ = ["published", "stage"]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """A kind of work whose items wait; nothing else does."""
    kind = KINDS[request.param]
    request.getfixturevalue(kind.fixture)
    return kind


@pytest.fixture
def work(kind: Kind) -> Work[Any]:
    """The kind as it is registered."""
    return next(each for each in kinds if KINDS[each.name] is kind)


@pytest.fixture
def benchmarked(stage: Stage) -> None:
    """A model under four attacks."""
    stage.submit("owls", ALL)
    requests_and_scores.sweep()


@pytest.fixture
def proven(published: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    """A released model, and proofs of two people."""
    released = Released(published, monkeypatch)
    Release.objects.bulk_create(
        Release(round=published, part=part, released_at=clock.now(), released_by=released.ann) for part in NEEDED
    )
    WorkerTime.objects.all().delete()  # of the round
    for by, change in ((released.ann, 51), (released.ben, 52)):
        released.upload(by, released.npz({1: change}))


@pytest.fixture
def challenged(
    repositories: dict[str, Repository], rules: RulesVersion, sample_sets: dict[str, SampleSet], alice: User
) -> None:
    """A team's model, a copy of a bundled one, and challenges against two attacks on one sample."""
    request_challenges(repositories["model"], alice, "gaussian-noise", "salt-and-pepper")


@pytest.fixture
def other(db: None) -> Worker:
    """A worker on another host."""
    return Worker.objects.create(name="other/0", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())


Claim = Callable[[Worker], Claimed | None]


@pytest.fixture
def claim(work: Work[Any]) -> Claim:
    """Claim the next item for a worker."""
    return lambda worker: queue.claim(worker, work.role)


def claimed_by(worker: Worker, claim: Claim) -> Claimed:
    found = claim(worker)
    assert found is not None
    return found


@pytest.fixture
def only(kind: Kind, claim: Claim, worker: Worker, the_clock: FakeClock) -> Claimed:
    """The only item, claimed."""
    first = claimed_by(worker, claim)
    kind.leave(kind.item(first))
    return first


def expires(claimed: Claimed, the_clock: FakeClock) -> None:
    """Move the clock beyond the lease of an item."""
    the_clock.forward(seconds=claimed.kind.row(claimed.claim).LEASE.total_seconds() + 1)


def test_every_kind_is_tested() -> None:
    assert {each.name for each in kinds} == set(KINDS)


@pytest.mark.usefixtures("the_clock")
def test_each_item_is_claimed_once(kind: Kind, work: Work[Any], claim: Claim, worker: Worker) -> None:
    claims = list(iter(lambda: claim(worker), None))
    assert len({kind.item(each) for each in claims}) == len(claims) > 1
    assert all(kind.row(each).held().exists() for each in claims)
    assert not work.waits()


def test_what_is_held_is_seen_with_its_team_and_its_lease(
    kind: Kind, only: Claimed, work: Work[Any], the_clock: FakeClock
) -> None:
    (held,) = work.held()
    entry = kind.entry(only)
    assert (held.priority, held.entry) == (kind.priority, entry.pk if entry else None)
    assert (held.since, held.until) == (the_clock.at, the_clock.at + kind.row(only).LEASE)


def test_a_renewed_lease_does_not_expire_and_has_an_end(kind: Kind, only: Claimed, the_clock: FakeClock) -> None:
    assert timedelta(0) < only.kind.longest(only.claim) < timedelta(days=2)
    for _ in range(10):
        the_clock.forward(seconds=2 * BEAT_SECONDS)
        assert kind.row(only).renew()
    assert queue.expire() == 0


def test_an_expired_item_is_claimed_again_and_lost_to_its_first_worker(
    kind: Kind, only: Claimed, claim: Claim, worker: Worker, the_clock: FakeClock
) -> None:
    expires(only, the_clock)
    again = claimed_by(worker, claim)
    assert kind.item(again) == kind.item(only)
    assert kind.faults(again) == 1
    assert not kind.row(only).renew()
    assert not only.kind.release(only.claim)
    assert not only.kind.release(only.claim, fault="too late")
    with pytest.raises(LostClaimError):
        kind.commit(only)
    assert kind.row(again).held().exists()
    kind.commit(again)
    assert claim(worker) is None


def test_an_item_that_is_renewed_while_the_sweep_looks_stays_with_its_worker(
    kind: Kind, only: Claimed, the_clock: FakeClock
) -> None:
    """The sweep has read that the lease expired; its worker renews it before the sweep writes, or locks the row."""
    expires(only, the_clock)
    row = kind.row(only)
    read: list[str] = []
    renewed: list[str] = []

    def renew_before(execute: Callable[..., Any], sql: str, *given: Any) -> Any:
        if read and not renewed and (kind.swept_under_lock or sql.startswith("UPDATE")):
            renewed.append(sql)
            assert row.renew()
        if "lease_until" in sql and row._meta.db_table in sql:
            read.append(sql)
        return execute(sql, *given)

    with connection.execute_wrapper(renew_before):
        assert queue.expire() == 0
    assert renewed
    row.refresh_from_db()
    assert kind.row(only).held().exists()
    assert kind.faults(only) == 0


def given_up(claimed: Claimed, claim: Claim, workers: tuple[Worker, ...], the_clock: FakeClock) -> None:
    """Let an item fail on several hosts, one after the other, until it is given up."""
    for worker, pause in zip(workers, PAUSES, strict=False):
        assert claimed.kind.release(claimed.claim, fault="the disk is broken")
        assert claim(worker) is None
        the_clock.forward(seconds=pause.total_seconds() - 1)
        assert claim(worker) is None
        the_clock.forward(seconds=2)
        claimed = claimed_by(worker, claim)
    assert claimed.kind.release(claimed.claim, fault="the disk is broken")


def test_after_faults_on_two_hosts_an_item_is_given_up_until_it_is_replayed(
    kind: Kind,
    only: Claimed,
    claim: Claim,
    worker: Worker,
    other: Worker,
    the_clock: FakeClock,
    root_user: User,
) -> None:
    entry = kind.entry(only)
    the_clock.forward(seconds=20)
    given_up(only, claim, (other, worker), the_clock)
    assert kind.faults(only) == MAX_FAULTS
    the_clock.forward(days=1)
    assert claim(worker) is None
    assert not only.kind.waits()
    kind.replay(kind.item(only), root_user)
    again = claimed_by(worker, claim)
    assert kind.item(again) == kind.item(only)
    the_clock.forward(seconds=20)
    assert again.kind.release(again.claim, fault="the disk is broken")
    the_clock.forward(seconds=PAUSES[0].total_seconds())
    again = claimed_by(worker, claim)
    the_clock.forward(seconds=20)
    assert again.kind.release(again.claim), "its worker is stopped"
    assert charged(only) == {}
    again = claimed_by(worker, claim)
    the_clock.forward(seconds=20)
    kind.commit(again)
    assert charged(only) == {entry.pk if entry else None: 20.0}


def test_a_stopped_worker_frees_its_item_at_once_and_failures_of_hosts_never_give_it_up(
    kind: Kind, only: Claimed, claim: Claim, worker: Worker, the_clock: FakeClock
) -> None:
    assert only.kind.release(only.claim)
    claimed = claimed_by(worker, claim)
    assert (kind.item(claimed), kind.faults(claimed)) == (kind.item(only), 0)
    for number in range(2 * MAX_FAULTS):
        assert claimed.kind.release(claimed.claim, fault="no such object", host_failed=True)
        if number > 0:
            assert claim(worker) is None
        the_clock.forward(days=1)
        claimed = claimed_by(worker, claim)
    assert kind.faults(claimed) == 0


def test_what_waits_and_is_cancelled_is_not_claimed(
    kind: Kind, work: Work[Any], claim: Claim, worker: Worker, the_clock: FakeClock
) -> None:
    kind.cancel()
    assert not work.waits()
    assert claim(worker) is None


def test_what_is_held_and_cancelled_is_finished_or_lost_and_charged_once(
    kind: Kind, only: Claimed, claim: Claim, worker: Worker, the_clock: FakeClock
) -> None:
    entry = kind.entry(only)
    the_clock.forward(seconds=20)
    kind.cancel()
    if kind.kept_when_cancelled:
        kind.commit(only)
    else:
        with pytest.raises(LostClaimError):
            kind.commit(only)
        assert not kind.row(only).renew()
    assert claim(worker) is None
    assert charged(only) == {entry.pk if entry else None: 20.0}


def test_a_wrong_clock_costs_at_most_one_fault(
    kind: Kind, only: Claimed, claim: Claim, worker: Worker, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All leases expire at once by the clock of the database; each worker finds that it lost its own."""
    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", lambda: the_clock.at + timedelta(days=1))
        assert queue.expire() == 0
        assert kind.row(only).renew()
    the_clock.forward(hours=1)
    assert queue.expire() == 1
    with pytest.raises(LostClaimError):
        kind.commit(only)
    again = claimed_by(worker, claim)
    assert kind.faults(again) == 1
    kind.commit(again)


def test_a_clock_of_the_database_that_is_set_back_costs_nothing(
    kind: Kind, only: Claimed, claim: Claim, the_clock: FakeClock
) -> None:
    the_clock.forward(hours=-1)
    assert queue.expire() == 0
    assert kind.row(only).renew()
    the_clock.forward(seconds=BEAT_SECONDS)
    assert queue.expire() == 0
    kind.commit(only)
    entry = kind.entry(only)
    assert entry is None or uses({entry.pk}, the_clock.at, only.kind.role)[entry.pk].day >= 0.0


def test_only_work_that_ends_counts_against_the_share_of_a_team(
    kind: Kind, only: Claimed, claim: Claim, worker: Worker, the_clock: FakeClock
) -> None:
    entry = kind.entry(only)
    team = entry.pk if entry else None

    def used() -> float:
        return uses({team}, the_clock.at, only.kind.role)[team].day

    the_clock.forward(seconds=20)
    assert used() == 20.0
    assert only.kind.release(only.claim, fault="a platform error")
    assert used() == 0.0
    the_clock.forward(seconds=PAUSES[0].total_seconds())
    again = claimed_by(worker, claim)
    the_clock.forward(seconds=20)
    kind.commit(again)
    assert used() == 20.0
    assert charged(only) == {team: 20.0}


def charged(claimed: Claimed) -> dict[int | None, float]:
    """The hourly rows of the role, summed for each team; there are none of the other role."""
    assert not WorkerTime.objects.exclude(role=claimed.kind.role.name).exists()
    return dict(WorkerTime.objects.order_by().values_list("entry").annotate(Sum("seconds")))


def test_a_result_is_written_and_charged_once(
    kind: Kind, only: Claimed, claim: Claim, worker: Worker, the_clock: FakeClock
) -> None:
    entry = kind.entry(only)
    expires(only, the_clock)
    again = claimed_by(worker, claim)
    the_clock.forward(seconds=20)
    with pytest.raises(LostClaimError):
        kind.commit(only)
    kind.commit(again)
    the_clock.forward(seconds=20)
    for late in (only, again):
        with pytest.raises(LostClaimError):
            kind.commit(late)
    assert charged(only) == {entry.pk if entry else None: 20.0}


WORKERS = """
    import os, sys, time
    import django
    django.setup()
    from workers import queue
    from workers.lease import Heartbeat
    from workers.models import Worker
    from workers.work_kind_interface import kinds
    from workers.worker_loop import hold

    for name in sys.stdin:
        if os.fork():
            os.wait()
            print("ended", flush=True)
            continue
        role = next(kind.role for kind in kinds if kind.name == name.strip())
        claimed = queue.claim(Worker.objects.get(name="host/0"), role)
        with Heartbeat() as heartbeat:
            hold(claimed.kind, claimed.claim, heartbeat)
            print("held", os.getpid(), flush=True)
            time.sleep(600)
"""
"""For each kind of work that it reads, this program starts a worker, which holds an item until it is killed."""


class OtherWorker:
    """A worker in a process of its own. Only the first one takes the time to start a program of the site."""

    def __init__(self, root: Path, state: Path) -> None:
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": database_url(),
            "GAUNTLET_STATE": str(state),
            "GAUNTLET_SANDBOX": "process",
            "GAUNTLET_BROKER": f"filesystem://{state}/broker",
        }
        words, pipe = [sys.executable, "-c", textwrap.dedent(WORKERS)], subprocess.PIPE
        self.starter = subprocess.Popen(words, cwd=root, env=environment, stdin=pipe, stdout=pipe, text=True)
        self.process: int | None = None

    def hold(self, kind: str) -> None:
        """Start, and hold an item of a kind of work."""
        assert self.starter.stdin is not None
        self.starter.stdin.write(f"{kind}\n")
        self.starter.stdin.flush()
        said, process = self._line().split()
        assert said == "held"
        self.process = int(process)

    def kill(self) -> None:
        """End now; return when it has ended."""
        if self.process is not None:
            os.kill(self.process, signal.SIGKILL)
            assert self._line() == "ended\n"
            self.process = None

    def _line(self) -> str:
        assert self.starter.stdout is not None
        return self.starter.stdout.readline()


@pytest.fixture(scope="session")
def other_worker(django_db_setup: None, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherWorker]:
    """A worker on the database of the tests."""
    made = OtherWorker(root, tmp_path_factory.mktemp("worker"))
    yield made
    made.starter.communicate()


@pytest.fixture
def doomed(transactional_db: None, work: Work[Any], worker: Worker, other_worker: OtherWorker) -> Iterator[OtherWorker]:
    """A worker in another process that holds an item."""
    other_worker.hold(work.name)
    yield other_worker
    other_worker.kill()


def test_the_item_of_a_killed_worker_is_claimed_by_another(
    kind: Kind,
    work: Work[Any],
    claim: Claim,
    doomed: OtherWorker,
    other: Worker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (held,) = work.held()
    doomed.kill()
    assert queue.expire() == 0, "the lease still runs"
    assert held.until is not None
    after = held.until + timedelta(minutes=2)
    monkeypatch.setattr(clock, "database_now", lambda: after)
    assert queue.expire() == 1
    claims = list(iter(lambda: claim(other), None))
    assert sorted(kind.faults(each) for each in claims)[-1] == 1
    for each in claims:
        kind.commit(each)
    assert not work.waits()
