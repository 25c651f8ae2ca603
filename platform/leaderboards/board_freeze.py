"""Snapshots of boards, and boards that stand still. Part of the services."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Max

from competitions.models import Competition, Track
from competitions.selectors import may_organise
from core import clock, events
from core.errors import Refusal
from leaderboards.models import Evaluation, Rejudging, Snapshot
from leaderboards.selectors import rows_now

if TYPE_CHECKING:
    from accounts.models import User

SHOWN_REASON = 200
"""So many characters of a reason a snapshot keeps, and boards show; the event keeps it whole."""


def take_snapshot(*, track: Track, reason: str) -> Snapshot:
    """Keep the track's leaderboard as it is now, for good."""
    with transaction.atomic():
        locked = Track.objects.select_for_update(no_key=True, of=("self",)).select_related("competition")
        held = locked.get(pk=track.pk)
        # never as old as the one that frozen boards show
        return _snapshot(held, reason, time_of_a_result(held.competition_id))


def freeze_leaderboards(*, competition: Competition, by: User, reason: str) -> None:
    """Let the public boards of a competition stand still: all that is scored from now on, its team alone sees.

    Raises `Refusal` where `by` does not organise it, or they stand still already.
    """
    with transaction.atomic():
        held = _held(competition, by)
        if held.leaderboards_frozen_since is not None:
            raise Refusal("the boards stand still already", fix="there is nothing to do")
        # whoever scores holds the lock of a track: what ended before `now` is in the snapshots, what ends later is not
        tracks = list(Track.objects.select_for_update(no_key=True).filter(competition=held).order_by("pk"))
        now = max([clock.database_now(), *_last_known(held)])
        for track in tracks:
            _snapshot(track, reason, now)
        _set_since(competition, now)
        events.record("still", held, by=by, reason=reason)


def unfreeze_leaderboards(*, competition: Competition, by: User, reason: str) -> None:
    """Let the public boards of a competition move again: everybody sees them as they are. The snapshots are kept.

    Raises `Refusal` where `by` does not organise it, or they do move.
    """
    with transaction.atomic():
        held = _held(competition, by)
        if held.leaderboards_frozen_since is None:
            raise Refusal("the boards do not stand still", fix="there is nothing to do")
        _set_since(competition, None)
        events.record("move", held, by=by, reason=reason, since=held.leaderboards_frozen_since.isoformat())


def time_of_a_result(competition: int) -> datetime:
    """When what ends now becomes known: after the boards stood still, if they do, whatever this host's clock says.

    To be asked under the lock of a track, which `freeze_leaderboards` and the freeze of a round take too.
    """
    since = Competition.objects.values_list("leaderboards_frozen_since", flat=True).get(pk=competition)
    now = clock.database_now()
    return now if since is None else max(now, since + timedelta(microseconds=1))


def _last_known(competition: Competition) -> list[datetime]:
    """When the last results became known by the clocks of the hosts that wrote them, which may be ahead of this one."""
    scored = Evaluation.objects.filter(sample_set__competition=competition).aggregate(last=Max("finished_at"))
    applied = Rejudging.objects.filter(competition=competition).aggregate(last=Max("settled_at"))
    return [last for last in (scored["last"], applied["last"]) if last is not None]


def _held(competition: Competition, by: User) -> Competition:
    if not may_organise(by, competition):
        raise Refusal("only organisers let boards stand still or move", fix=f"ask an organiser of {competition}")
    return Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)


def _set_since(competition: Competition, since: datetime | None) -> None:
    Competition.objects.filter(pk=competition.pk).update(leaderboards_frozen_since=since)
    competition.leaderboards_frozen_since = since


def _snapshot(track: Track, reason: str, at: datetime) -> Snapshot:
    return Snapshot.objects.create(track=track, made_at=at, reason=reason[:SHOWN_REASON], rows=rows_now(track))
