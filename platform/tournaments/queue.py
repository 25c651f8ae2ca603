"""A database-backed work queue of runs, attacks before defences of the same team.

A run is held under a lease that its worker renews, and written only by the holder of its newest fence. Every state
change is one conditional UPDATE, so that no batch is played or counted twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Min, Q, QuerySet, Sum

from accounts.models import User
from competitions.models import Entry
from core import clock, events, faults, notify
from core.errors import Refusal
from core.fair_share import DAY, NOTHING, RECENT, Use, precedence
from core.fault_record import columns_after
from core.lease import BEAT_SECONDS, LostClaimError
from core.worker_slot import host_of
from matches.models import Piece, Worker
from matches.queue import waiting_for
from tournaments.models import AttackRun, DefenceRun, RepeatRun, Run
from tournaments.selectors import KINDS, AnyRun, open_runs

PLAYED_WITH = {
    AttackRun: ("tournament__rules__competition", "tournament__sample_set", "attack__repository"),
    DefenceRun: (
        "attack_run__tournament__rules__competition",
        "attack_run__tournament__sample_set",
        "attack_run__attack",
        "defence__repository",
    ),
    RepeatRun: ("tournament__rules__competition", "tournament__sample_set", "defence__repository"),
}
"""Relations that are needed to play a run."""

MISSED_BEATS = 3
"""Number of missed heartbeats after which a worker is probably dead."""

log = logging.getLogger(__name__)


def claim(worker: str) -> AnyRun | None:
    """Claim the next run for `worker`; return None if nothing waits, or only what comes after pieces of rounds.

    Runs of rounds come first. Of one priority, teams are served by `core.fair_share`.
    """
    expire()
    now = clock.database_now()
    for priority, entry in _order(now):
        if priority != Run.Priority.ROUND and _pieces_of_rounds_wait(worker, now):
            return None
        for kind in KINDS:
            while True:
                with transaction.atomic():
                    waiting = _waiting(kind, now).filter(priority=priority, entry=entry)
                    found = (
                        waiting.select_for_update(skip_locked=True, of=("self",)).order_by("queued_at", "pk").first()
                    )
                    if found is None:
                        break
                    if _take(found, worker, now):
                        return kind.objects.select_related(*PLAYED_WITH[kind]).get(pk=found.pk)
    return None


def commit(run: AnyRun, result: Mapping[str, Any]) -> None:
    """Write the result of a claimed run. Raise `LostClaimError` if another worker holds it now."""
    if not run.release(state=Run.State.PLAYED, played_at=clock.database_now(), fault="", **result):
        raise LostClaimError(f"{run} was lost")


def release_claim(run: AnyRun, *, fault: str = "", host_failed: bool = False) -> bool:
    """Release a claim without a result; return False if the claim is lost.

    `fault` counts against the run, unless `host_failed`.
    """
    if fault and not host_failed:
        return _count_fault(run, fault, expired=False)
    columns: dict[str, Any] = {}
    if host_failed:
        record = run.fault_record.after_host_fault()
        columns = {"fault": fault} | columns_after(record, clock.database_now(), pause_first=False)
    return run.release(state=Run.State.WAITING, worker="", **columns)


def expire() -> int:
    """Return the runs of workers without a heartbeat to the queue, each with a fault; return how many."""
    changed = 0
    for kind in KINDS:
        for run in kind.expired().filter(state=Run.State.CLAIMED):
            changed += _count_fault(run, f"no heartbeat from {run.worker}", expired=True)
    return changed


def anything_waits(*priorities: Run.Priority) -> bool:
    """Return True if a run, of one of `priorities` if any are given, may be claimed now."""
    now, wanted = clock.database_now(), Q(priority__in=priorities) if priorities else Q()
    return any(_waiting(kind, now).filter(wanted).exists() for kind in KINDS)


def anything_is_played() -> bool:
    """Return True if a worker holds a run and has not missed its last heartbeats."""
    renewed = clock.database_now() - timedelta(seconds=MISSED_BEATS * BEAT_SECONDS)
    return any(
        kind.objects.filter(state=Run.State.CLAIMED, lease_until__gt=renewed + kind.LEASE).exists() for kind in KINDS
    )


def replay_failed(run: AnyRun, by: User | None, reason: str = "") -> None:
    """Put a run that was given up back into the queue. Raise `Refusal` for any other."""
    with transaction.atomic():
        given_up = type(run).objects.filter(pk=run.pk, state=Run.State.FAILED)
        if not given_up.update(state=Run.State.WAITING, **Run.NO_FAULTS):
            raise Refusal(f"{run} has not failed", fix="no action needed")
        events.record("replay", run, by=by, reason=reason)
        notify.notify("tournaments.play")


def retry_now(run: AnyRun, by: User, reason: str = "") -> None:
    """Forget the faults on a waiting run, so that it is claimed next. Raise `Refusal` for one without any."""
    with transaction.atomic():
        _require_faulty(run).update(**Run.NO_FAULTS)
        events.record("retry_now", run, by=by, reason=reason)
        notify.notify("tournaments.play")


def give_up(run: AnyRun, by: User, reason: str = "") -> None:
    """Give up a waiting run. Raise `Refusal` for one without faults."""
    with transaction.atomic():
        _require_faulty(run).update(state=Run.State.FAILED)
        events.record("give_up", run, by=by, reason=reason)


def _take(run: AnyRun, worker: str, now: datetime) -> bool:
    free = type(run).objects.filter(pk=run.pk, state=Run.State.WAITING)
    taken: int = free.update(
        state=Run.State.CLAIMED, worker=worker, claimed_at=now, lease_until=now + run.LEASE, fence=F("fence") + 1
    )
    return taken == 1


def _waiting(kind: type[AnyRun], now: datetime) -> QuerySet[Any]:
    return open_runs(kind).filter(state=Run.State.WAITING).exclude(paused_until__gt=now)


def _pieces_of_rounds_wait(worker: str, now: datetime) -> bool:
    """Return True if a piece of a round waits that `worker` may claim."""
    row = Worker.objects.filter(name=worker).first()
    return row is not None and waiting_for(row, now).filter(priority=Piece.Priority.ROUND).exists()


def _require_faulty(run: AnyRun) -> QuerySet[Any]:
    """Return the row of a waiting run that had a fault, locked. Raise `Refusal` for any other."""
    rows = type(run).objects.filter(pk=run.pk)
    waiting = rows.filter(state=Run.State.WAITING).exclude(faults=0, host_faults=0)
    if waiting.select_for_update(of=("self",)).first() is None:
        raise Refusal(f"{run} does not wait after a fault", fix="choose a run that waits and had faults")
    return rows


def _count_fault(run: AnyRun, fault: str, *, expired: bool) -> bool:
    """Return `run` (as read while claimed) to the queue, or give it up; return False if the claim has changed.

    If it `expired`, also if its worker has renewed the lease since.
    """
    host = host_of(run.worker)
    record = run.fault_record.after_fault(host)
    given_up = record.is_given_up
    claimed = run.held_but_expired() if expired else run.held()
    with transaction.atomic():
        changed = claimed.update(
            lease_until=None,
            state=Run.State.FAILED if given_up else Run.State.WAITING,
            worker="",
            fault=fault,
            # without a pause after the first lease that expires: the worker was probably stopped
            **columns_after(record, clock.database_now(), pause_first=not expired),
        )
        if changed:
            verb = "give_up" if given_up else "fault"
            events.record(verb, run, fault=fault, number=record.faults, host=host)
    if changed and given_up:
        faults.report(log, RuntimeError(fault), "%s was given up after %s platform errors", run, record.faults)
    return changed == 1


def _order(now: datetime) -> Iterator[tuple[int, int | None]]:
    """Yield the priorities and teams with waiting runs, None for runs of no team, in the order of service."""
    first: dict[int, dict[int | None, datetime]] = {}
    for kind in KINDS:
        rows = _waiting(kind, now).order_by().values_list("priority", "entry").annotate(oldest=Min("queued_at"))
        for priority, entry, oldest in rows:
            known = first.setdefault(priority, {})
            known[entry] = min(known.get(entry, oldest), oldest)
    for priority, teams in sorted(first.items()):
        for entry in _fair_order(teams, now):
            yield priority, entry


def _fair_order(first: Mapping[int | None, datetime], now: datetime) -> Iterator[int | None]:
    """Yield the teams in the order in which they are served; `first` has the time of the oldest run of each."""
    if len(first) < 2:
        yield from first
        return
    used = _uses(now)
    low = set(Entry.objects.filter(pk__in=[e for e in first if e], low_priority=True).values_list("pk", flat=True))
    limit = settings.TEAM_WORKER_SECONDS
    yield from sorted(
        first,
        key=lambda entry: (
            precedence(used.get(entry, NOTHING), limit=limit, low_priority=entry in low),
            first[entry],
        ),
    )


def _uses(now: datetime) -> dict[int | None, Use]:
    """Return each team's use of the workers by leaderboards: runs now, and seconds of the last hour and day."""
    running: dict[int | None, int] = {}
    recent: dict[int | None, float] = {}
    day: dict[int | None, float] = {}
    for kind in KINDS:
        rows = kind.objects.filter(priority=Run.Priority.BOARD).order_by().values_list("entry")
        for entry, count in rows.filter(state=Run.State.CLAIMED).annotate(count=Count("pk")):
            running[entry] = running.get(entry, 0) + count
        for period, found in ((RECENT, recent), (DAY, day)):
            spent = rows.filter(played_at__gt=now - period).annotate(spent=Sum(F("seconds") * F("calibration")))
            for entry, seconds in spent:
                found[entry] = found.get(entry, 0.0) + (seconds or 0.0)
    return {
        entry: Use(running.get(entry, 0), recent.get(entry, 0.0), day.get(entry, 0.0)) for entry in {*running, *day}
    }
