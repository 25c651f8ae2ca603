"""A database-backed work queue of runs, attacks before defences of the same team.

A run is held under a lease that its worker renews, and written only by the holder of its newest fence. Every state
change is one conditional UPDATE, so that no batch is played or counted twice.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, OuterRef, QuerySet, Subquery

from accounts.models import User
from competitions.models import Competition, Entry
from core import clock, events, faults, notify
from core.errors import Refusal
from core.fair_share import Use, precedence
from core.fault_record import columns_after
from core.lease import LostClaimError
from core.worker_slot import host_of
from matches.queue_order import charge, seconds_spent
from tournaments import totals
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

log = logging.getLogger(__name__)


def claim(worker: str) -> AnyRun | None:
    """Claim the next run for `worker`; return None if nothing waits.

    Runs of rounds come first. Of one priority, teams are served by `core.fair_share`.
    """
    expire()
    now = clock.database_now()
    for priority, entry in _order(now):
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
    """Write the result of a claimed run, and add it to the totals; `follow_ups.announce` is to follow.

    Raise `LostClaimError` if another worker holds it now.
    """
    now = clock.database_now()
    with transaction.atomic():
        if not run.release(state=Run.State.PLAYED, played_at=now, fault="", **result):
            raise LostClaimError(f"{run} was lost")
        if isinstance(run, DefenceRun):
            totals.add(run, result)
        if run.priority == Run.Priority.BOARD:
            charge(run.entry, (result["seconds"] or 0.0) * (result["calibration"] or 0.0), now)


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


def anything_is_held() -> bool:
    """Return True if a worker plays a run."""
    return any(kind.objects.filter(state=Run.State.CLAIMED).exists() for kind in KINDS)


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


def _require_faulty(run: AnyRun) -> QuerySet[Any]:
    """Return the row of a waiting run that had a fault, locked. Raise `Refusal` for any other."""
    rows = type(run).objects.filter(pk=run.pk)
    waiting = rows.filter(state=Run.State.WAITING).exclude(faults=0, host_faults=0)
    if waiting.select_for_update(of=("self",)).first() is None:
        raise Refusal(f"{run} does not wait after a fault", fix="choose a run that waits and had faults")
    return rows


def _count_fault(run: AnyRun, fault: str, *, expired: bool) -> bool:
    """Return `run` (as read while claimed) to the queue, or give it up; return False if the claim has changed."""
    host = host_of(run.worker)
    record = run.fault_record.after_fault(host)
    given_up = record.is_given_up
    with transaction.atomic():
        changed = run.release(
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
    return changed


def _order(now: datetime) -> Iterator[tuple[int, int | None]]:
    """Yield the priorities and teams with waiting runs, None for runs of no team, in the order of service."""
    for priority in sorted(Run.Priority.values):
        for entry in _fair_order(_oldest(priority, now), now):
            yield priority, entry


def _oldest(priority: int, now: datetime) -> dict[int | None, datetime]:
    """Return the time of the oldest waiting run of each team, None for those of no team, as are all but leaderboards'.

    Takes one probe of the index per team, however many runs wait.
    """
    found: dict[int | None, datetime] = {}
    entries = Entry.objects.filter(competition__format=Competition.Format.TRANSFER).order_by()
    for kind in KINDS:
        waiting = _waiting(kind, now).filter(priority=priority).order_by("queued_at")
        rows: list[tuple[int | None, datetime | None]] = [
            (None, waiting.filter(entry=None).values_list("queued_at", flat=True).first())
        ]
        if priority == Run.Priority.BOARD and kind is not RepeatRun:
            own = waiting.filter(entry=OuterRef("pk")).values("queued_at")[:1]
            rows += entries.values_list("pk", Subquery(own))
        for entry, oldest in rows:
            if oldest is not None:
                found[entry] = min(found.get(entry, oldest), oldest)
    return found


def _fair_order(first: Mapping[int | None, datetime], now: datetime) -> Iterator[int | None]:
    """Yield the teams in the order in which they are served; `first` has the time of the oldest run of each."""
    if len(first) < 2:
        yield from first
        return
    used = _uses(first, now)
    low = set(Entry.objects.filter(pk__in=[e for e in first if e], low_priority=True).values_list("pk", flat=True))
    limit = settings.TEAM_WORKER_SECONDS
    yield from sorted(
        first,
        key=lambda entry: (
            precedence(used[entry], limit=limit, low_priority=entry in low),
            first[entry],
        ),
    )


def _uses(teams: Iterable[int | None], now: datetime) -> dict[int | None, Use]:
    """Return each team's use of the workers by leaderboards: runs now, and seconds of the last hour and day."""
    running: Counter[int | None] = Counter()
    for kind in KINDS:
        held = kind.objects.filter(state=Run.State.CLAIMED, priority=Run.Priority.BOARD)
        running.update(held.order_by().values_list("entry", flat=True))
    spent = seconds_spent(set(teams), now)
    return {entry: Use(running[entry], *spent.get(entry, (0.0, 0.0))) for entry in teams}
