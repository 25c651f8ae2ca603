"""A database-backed work queue of runs, attacks before defences of the same team.

A run is held under a lease that its worker renews, and written only by the holder of its newest fence. Every state
change is one conditional UPDATE, so that no batch is played or counted twice.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, QuerySet, Subquery

from accounts.models import User
from competitions.models import Entry
from core import clock, events, faults, notify
from core.errors import Refusal
from tournaments import totals
from tournaments.models import FORMAT, AttackRun, DefenceRun, RepeatRun, Run, Tournament
from tournaments.selectors import KINDS, AnyRun, open_runs
from workers.fair_order import charge
from workers.fault_record import columns_after
from workers.lease import LostClaimError
from workers.models import Priority, Worker
from workers.work import Held, Turn
from workers.worker_slot import host_of

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

IN_ORDER = ("entry_id", "queued_at", "pk")
"""Order of the runs of one priority and team, as in the index."""

log = logging.getLogger(__name__)


def turns(now: datetime) -> list[Turn]:
    """Return the teams with waiting runs; those of rounds and repeats belong to no team.

    Takes one probe of the index per team, however many runs wait.
    """
    if not Tournament.objects.filter(ended_at=None, suspended=False).exists():
        return []
    found: list[tuple[int, int | None, datetime | None, bool]] = []
    for kind in KINDS:
        for priority in (Priority.ROUND, Priority.REPEAT if kind is RepeatRun else Priority.BOARD):
            of_nobody = _waiting(kind, now).filter(Turn(priority, None, now).items).order_by("entry_id", "queued_at")
            found.append((priority, None, of_nobody.values_list("queued_at", flat=True).first(), False))
    for kind in (AttackRun, DefenceRun):
        own = _waiting(kind, now).filter(priority=Priority.BOARD, entry=OuterRef("pk")).order_by("queued_at")
        entries = Entry.objects.filter(competition__format=FORMAT).order_by()
        rows = entries.values_list("pk", Subquery(own.values("queued_at")[:1]), "low_priority")
        found += [(Priority.BOARD, *row) for row in rows]
    oldest: dict[tuple[int, int | None], Turn] = {}
    for key, entry, queued_at, low in found:
        if queued_at is not None:
            turn = Turn(key, entry, queued_at, low_priority=low)
            oldest[key, entry] = min(oldest.get((key, entry), turn), turn, key=lambda each: each.queued_at)
    return list(oldest.values())


def claim(worker: Worker, turn: Turn, now: datetime) -> AnyRun | None:
    """Claim the first run of a turn for `worker`, attacks before defences; return None if others have taken all."""
    for kind in KINDS:
        while True:
            with transaction.atomic():
                waiting = _waiting(kind, now).filter(turn.items)
                found = waiting.select_for_update(skip_locked=True, of=("self",)).order_by(*IN_ORDER).first()
                if found is None:
                    break
                if _take(found, worker.name, now):
                    return kind.objects.select_related(*PLAYED_WITH[kind]).get(pk=found.pk)
    return None


def commit(run: AnyRun, result: Mapping[str, Any]) -> None:
    """Write the result of a claimed run, and add it to the totals; `follow_ups.announce` is to follow.

    Raise `LostClaimError` if another worker holds it now.
    """
    now = clock.database_now()
    with transaction.atomic():
        if not run.release(state=Run.State.PLAYED, played_at=now, fault="", **result):
            raise LostClaimError(f"{run} was lost")
        if isinstance(run, DefenceRun):
            totals.add(run, result)
        charge(Held(run.priority, run.entry_id, run.claimed_at), now)


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


def anything_waits() -> bool:
    """Return True if a run may be claimed now."""
    now = clock.database_now()
    return any(_waiting(kind, now).exists() for kind in KINDS)


def held_runs() -> list[Held]:
    """Return the runs that workers play now; at most one per worker."""
    return [
        Held(*row)
        for kind in KINDS
        for row in kind.objects.filter(state=Run.State.CLAIMED)
        .order_by()
        .values_list("priority", "entry_id", "claimed_at", "lease_until")
    ]


def replay_failed(run: AnyRun, by: User | None, reason: str = "") -> None:
    """Put a run that was given up back into the queue. Raise `Refusal` for any other."""
    with transaction.atomic():
        given_up = type(run).objects.filter(pk=run.pk, state=Run.State.FAILED)
        if not given_up.update(state=Run.State.WAITING, **Run.NO_FAULTS):
            raise Refusal(f"{run} has not failed", fix="no action needed")
        events.record("replay", run, by=by, reason=reason)
        notify.notify("workers.play")


def retry_now(run: AnyRun, by: User, reason: str = "") -> None:
    """Forget the faults on a waiting run, so that it is claimed next. Raise `Refusal` for one without any."""
    with transaction.atomic():
        _require_faulty(run).update(**Run.NO_FAULTS)
        events.record("retry_now", run, by=by, reason=reason)
        notify.notify("workers.play")


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
