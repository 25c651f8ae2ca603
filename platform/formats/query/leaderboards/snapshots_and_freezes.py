"""Snapshots of leaderboards, and frozen leaderboards."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Max

from competitions.board_freezes import frozen_since
from competitions.models import Competition, FrozenLeaderboards, Track
from competitions.permissions import require
from core import clock, event_log
from core.errors import Refusal
from core.roles import Right
from formats.query.leaderboards.models import Evaluation, Rejudging, Snapshot
from formats.query.leaderboards.score_visibility import rows_now

if TYPE_CHECKING:
    from accounts.models import User

SHOWN_REASON = 200
"""Characters of a reason that a snapshot keeps and leaderboards show; the event keeps the whole reason."""


def take_snapshot(*, track: Track, reason: str) -> Snapshot:
    """Store a permanent copy of the track's leaderboard."""
    with transaction.atomic():
        locked = Track.objects.select_for_update(no_key=True, of=("self",)).select_related("competition")
        current = locked.get(pk=track.pk)
        # later than the snapshot that frozen leaderboards show
        return _snapshot(current, reason, time_of_a_result(current.competition_id))


def freeze_leaderboards(*, competition: Competition, by: User, reason: str) -> None:
    """Freeze the public leaderboards of a competition: only the team itself sees scores from now on.

    Raise `Refusal` where `by` does not organise it, or the leaderboards are frozen already.
    """
    with transaction.atomic():
        current = _locked(competition, by)
        if frozen_since(current) is not None:
            raise Refusal("the leaderboards are already frozen", fix="no action needed")
        # scoring holds the lock of a track: results before `now` are in the snapshots, later ones are not
        tracks = list(Track.objects.select_for_update(no_key=True).filter(competition=current).order_by("pk"))
        now = max([clock.database_now(), *_last_known(current)])
        for track in tracks:
            _snapshot(track, reason, now)
        FrozenLeaderboards.objects.create(competition=competition, since=now)
        event_log.record("freeze", current, by=by, reason=reason)


def unfreeze_leaderboards(*, competition: Competition, by: User, reason: str) -> None:
    """Unfreeze the public leaderboards of a competition: everyone sees current scores. The snapshots are kept.

    Raise `Refusal` where `by` does not organise it, or the leaderboards are not frozen.
    """
    with transaction.atomic():
        current = _locked(competition, by)
        since = frozen_since(current)
        if since is None:
            raise Refusal("the leaderboards are not frozen", fix="no action needed")
        FrozenLeaderboards.objects.filter(competition=current).delete()
        event_log.record("unfreeze", current, by=by, reason=reason, since=since.isoformat())
    competition.refresh_from_db()


def time_of_a_result(competition: int) -> datetime:
    """Return the time of a result that is written now: after the last freeze, whatever this host's clock says.

    Call it under the lock of a track, which `freeze_leaderboards` and the freeze of a round take too.
    """
    since = FrozenLeaderboards.objects.filter(competition=competition).values_list("since", flat=True).first()
    now = clock.database_now()
    return now if since is None else max(now, since + timedelta(microseconds=1))


def _last_known(competition: Competition) -> list[datetime]:
    """Return the times of the last results by the clocks of the hosts that wrote them, which may be ahead."""
    scored = Evaluation.objects.filter(sample_set__competition=competition).aggregate(last=Max("finished_at"))
    published = Rejudging.objects.filter(competition=competition).aggregate(last=Max("settled_at"))
    return [last for last in (scored["last"], published["last"]) if last is not None]


def _locked(competition: Competition, by: User) -> Competition:
    require(by, competition, Right.RUN)
    return Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)


def _snapshot(track: Track, reason: str, at: datetime) -> Snapshot:
    return Snapshot.objects.create(track=track, made_at=at, reason=reason[:SHOWN_REASON], rows=rows_now(track))
