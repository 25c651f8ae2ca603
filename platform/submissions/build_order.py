"""Order of the submissions that wait for a build: fair between teams, see `workers.fair_share`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet

from core import clock
from submissions.build_faults import NOT_COUNTED, PLATFORM_FAULTS, paused_submissions
from submissions.models import Build, Submission
from workers.fair_order import over_limit, uses
from workers.fair_share import DAY, RECENT, Waiting, round_robin
from workers.models import Priority
from workers.work_kind import Held, Role, Turn


@dataclass(frozen=True)
class BuildPlace:
    """Number of submissions that are built before one, and True if its team exceeded its share of the builders."""

    before: int
    over_limit: bool


def place_of(submission: Submission) -> BuildPlace:
    """Return the place of a waiting submission, if no other one arrives."""
    now = clock.database_now()
    entry = submission.repository.entry_id
    rows = _received().values_list("pk", "repository__entry", "repository__entry__low_priority")
    waiting = [Waiting(*row) for row in rows]
    used = {team: use for team, use in uses({each.team for each in waiting}, now, BUILD).items() if team is not None}
    order = round_robin(waiting, used, limit=BUILD.limit())
    before = order.index(submission.pk) if submission.pk in order else 0  # a builder may have claimed it meanwhile
    return BuildPlace(before, entry in over_limit({entry}, now, BUILD))


def turns(now: datetime) -> list[Turn]:
    """Return the teams with submissions that may be built now."""
    oldest: dict[int, Turn] = {}
    rows = waiting_builds(now).values_list("repository__entry", "received_at", "repository__entry__low_priority")
    for entry, received_at, low_priority in rows:
        oldest.setdefault(entry, Turn(Priority.BOARD, entry, received_at, low_priority=low_priority))
    return list(oldest.values())


def waiting_builds(now: datetime) -> QuerySet[Submission]:
    """Return the submissions that may be built now, oldest first."""
    return _received().exclude(pk__in=paused_submissions(now))


def held_builds() -> list[Held]:
    """Return the builds that builders hold now; at most one per process."""
    rows = Build.objects.filter(lease_until__isnull=False).order_by()
    held = rows.values_list("submission__repository__entry", "started_at", "lease_until")
    return [Held(Priority.BOARD, *row) for row in held]


def _received() -> QuerySet[Submission]:
    return Submission.objects.filter(state=Submission.State.RECEIVED).order_by("pk")


def _build_time(teams: Collection[int | None], now: datetime) -> dict[int | None, tuple[float, float]]:
    """Return the seconds of finished builds of each team; those that ended by a platform error do not count."""
    builds = Build.objects.filter(finished_at__gt=now - DAY, submission__repository__entry__in=teams)
    spent: dict[int | None, tuple[float, float]] = {}
    rows = builds.exclude(outcome__in=PLATFORM_FAULTS | NOT_COUNTED).order_by()
    for entry, began, ended in rows.values_list("submission__repository__entry", "started_at", "finished_at"):
        recent, day = (_seconds_since(now - window, began, ended) for window in (RECENT, DAY))
        earlier = spent.get(entry, (0.0, 0.0))
        spent[entry] = earlier[0] + recent, earlier[1] + day
    return spent


BUILD = Role("build", spent=_build_time, limit=lambda: settings.TEAM_BUILD_SECONDS)
"""Workers that build and check submissions: apart from those that play, as they need the engine and its images."""


def _seconds_since(start: datetime, began: datetime, ended: datetime | None) -> float:
    return max(timedelta(0), ended - max(start, began)).total_seconds() if ended else 0.0
