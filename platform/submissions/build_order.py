"""Order of the submissions that wait for a build: fair between teams, see `workers.fair_share`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

from core import clock
from submissions.build_queue import HOST, NOTIFY_AGAIN, PLATFORM_FAULTS
from submissions.models import Build, Submission
from workers.fair_share import DAY, RECENT, Use, Waiting, round_robin


@dataclass(frozen=True)
class BuildPlace:
    """Number of submissions that are built before one, and True if its team exceeded its share of the builders."""

    before: int
    over_limit: bool


def in_order(submission: int) -> list[int]:
    """Return the submissions that may be built now, in order.

    One that returned after a platform error waits first, as an immediate retry would fail again. The notified one,
    `submission`, is exempt only if there is no other.
    """
    now = clock.database_now()
    order = _order(_waiting(Q(builds=None) | Q(state_since__lte=now - NOTIFY_AGAIN)), now)
    return order if submission in order else [*order, submission]


def place_of(submission: Submission) -> BuildPlace:
    """Return the place of a waiting submission, if no other one arrives."""
    now = clock.database_now()
    entry = submission.repository.entry_id
    order = _order(_waiting(Q()), now)
    before = order.index(submission.pk) if submission.pk in order else 0  # a builder may have claimed it meanwhile
    return BuildPlace(before, _uses([entry], now)[entry].day >= settings.TEAM_BUILD_SECONDS)


def _waiting(chosen: Q) -> list[Waiting]:
    rows = Submission.objects.filter(chosen, state=Submission.State.RECEIVED).order_by("pk").distinct()
    return [Waiting(*row) for row in rows.values_list("pk", "repository__entry", "repository__entry__low_priority")]


def _order(waiting: list[Waiting], now: datetime) -> list[int]:
    return round_robin(waiting, _uses({each.team for each in waiting}, now), limit=settings.TEAM_BUILD_SECONDS)


def _uses(entries: Collection[int], now: datetime) -> dict[int, Use]:
    """Return each team's use of the builders; builds that failed by a platform error do not count."""
    builds = Build.objects.filter(
        Q(finished_at=None) | Q(finished_at__gt=now - DAY), submission__repository__entry__in=entries
    ).exclude(outcome__in=[*PLATFORM_FAULTS, HOST])
    uses = dict.fromkeys(entries, Use())
    for entry, began, ended in builds.values_list("submission__repository__entry", "started_at", "finished_at"):
        use = uses[entry]
        recent, day = (_seconds_since(now - window, began, ended or now) for window in (RECENT, DAY))
        uses[entry] = Use(use.running + (ended is None), use.recent + recent, use.day + day)
    return uses


def _seconds_since(start: datetime, began: datetime, ended: datetime) -> float:
    return max(timedelta(0), ended - max(start, began)).total_seconds()
