"""Claims and commits of runs, attacks before defences of the same team.

A run is written only by the holder of its newest fence (`workers.work_item_queue`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery

from competitions.models import Entry
from core import clock
from formats.transfer import NAME
from formats.transfer.tournaments import pair_totals
from formats.transfer.tournaments.models import AttackRun, DefenceRun, RepeatRun, Run, Tournament
from formats.transfer.tournaments.selectors import KINDS, AnyRun, open_runs
from submissions.models import Player
from workers.lease import LostClaimError
from workers.models import Priority, Worker
from workers.team_queue_order import charge
from workers.work_item_queue import requeue_failed, take, take_from_workers, with_items
from workers.work_kind_interface import Held, Turn

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


def turns(now: datetime) -> list[Turn]:
    """Return the teams with waiting runs; those of rounds and repeats belong to no team.

    Takes one probe of the index per team, however many runs wait.
    """
    kinds = _waiting_kinds()
    if not kinds or not Tournament.objects.filter(ended_at=None, suspended=False).exists():
        return []
    found: list[tuple[int, int | None, datetime | None, bool]] = []
    for kind in kinds:
        for priority in (Priority.ROUND, Priority.REPEAT if kind is RepeatRun else Priority.BOARD):
            of_nobody = waiting(kind, now).filter(Turn(priority, None, now).items).order_by("entry_id", "queued_at")
            found.append((priority, None, of_nobody.values_list("queued_at", flat=True).first(), False))
    for kind in kinds:
        if kind is RepeatRun:  # of no team
            continue
        own = waiting(kind, now).filter(priority=Priority.BOARD, entry=OuterRef("pk")).order_by("queued_at")
        entries = Entry.objects.filter(competition__format=NAME, competition__archived_at=None).order_by()
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
    for kind in _waiting_kinds():
        while True:
            with transaction.atomic():
                rows = waiting(kind, now).filter(turn.items).select_related(*PLAYED_WITH[kind]).order_by(*IN_ORDER)
                found: AnyRun | None = rows.select_for_update(skip_locked=True, of=("self",)).first()
                if found is None:
                    break
                if take(found, now, worker=worker.name):
                    return found
    return None


def commit(run: AnyRun, result: Mapping[str, Any]) -> None:
    """Write the result of a claimed run, and add it to the totals; `step_notifications.announce` is to follow.

    Raise `LostClaimError` if another worker holds it now.
    """
    now = clock.database_now()
    with transaction.atomic():
        if not run.release(state=Run.State.PLAYED, played_at=now, fault="", **result):
            raise LostClaimError(f"{run} was lost")
        if isinstance(run, DefenceRun):
            pair_totals.add(run, result)
        charge(Held(run.priority, run.entry_id, run.claimed_at), now)


def take_back(ended: Collection[Tournament]) -> None:
    """Take the held runs of ended tournaments from their workers, which stop at their next heartbeat.

    They wait, and are played if a tournament is reopened.
    """
    taken: list[AnyRun] = []
    for kind in KINDS:
        of = "attack_run__tournament__in" if kind is DefenceRun else "tournament__in"
        rows: QuerySet[Any] = kind.objects.filter(**{of: ended}, state=Run.State.CLAIMED).order_by("pk")
        taken += rows.select_for_update(of=("self",))
    take_from_workers(taken)


def requeue_failed_of(player: Player) -> None:
    """Put the runs of a player that were given up back into the queue."""
    for kind in KINDS:
        side = "attack" if kind is AttackRun else "defence"
        requeue_failed(kind.objects.filter(pk__in=open_runs(kind).filter(**{side: player}).values("pk")))


def anything_waits() -> bool:
    """Return True if a run may be claimed now."""
    now = clock.database_now()
    return any(waiting(kind, now).exists() for kind in KINDS)


def _waiting_kinds() -> list[type[AnyRun]]:
    found = with_items(Run.State.WAITING, KINDS)
    return [kind for kind in KINDS if kind in found]


def waiting(kind: type[AnyRun], now: datetime) -> QuerySet[Any]:
    """Return the runs of a kind that may be claimed now."""
    return open_runs(kind).filter(state=Run.State.WAITING).exclude(paused_until__gt=now)
