"""Order of the submissions that wait for a build: fair between teams, see `workers.fair_share`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery

from core import clock
from repositories.models import Repository
from submissions.build_outcomes import paused_submissions
from submissions.models import Build, Submission
from workers.fair_share import Waiting, round_robin
from workers.models import Priority
from workers.selectors import hosts_out_of_service
from workers.team_queue_order import over_limit, uses
from workers.work_kind_interface import Held, Role, Turn

BUILD = Role("build", limit=lambda: settings.TEAM_BUILD_SECONDS)
"""Workers that build and check submissions: apart from those that play, as they need the engine and its images."""


LONG_WAIT = timedelta(minutes=1)
"""A builder that is in service and idle takes a submission sooner."""


@dataclass(frozen=True)
class BuildPlace:
    """Number of submissions that are built before one, and True if its team exceeded its share of the builders.

    `stopped`: it waits because hosts are out of service, for example without a sandbox, and none builds anything.
    """

    before: int
    over_limit: bool
    stopped: bool = False


def place_of(submission: Submission) -> BuildPlace:
    """Return the place of a waiting submission, if no other one arrives."""
    now = clock.database_now()
    entry = submission.repository.entry_id
    rows = _received().values_list("pk", "repository__entry", "repository__entry__low_priority")
    waiting = [Waiting(*row) for row in rows]
    used = {team: use for team, use in uses({each.team for each in waiting}, now, BUILD).items() if team is not None}
    order = round_robin(waiting, used, limit=BUILD.limit())
    before = order.index(submission.pk) if submission.pk in order else 0  # a builder may have claimed it meanwhile
    waits_long = submission.state_since < now - LONG_WAIT
    stopped = (
        waits_long and not Build.objects.filter(lease_until__isnull=False).exists() and bool(hosts_out_of_service())
    )
    return BuildPlace(before, entry in over_limit({entry}, now, BUILD), stopped)


def turns(now: datetime) -> list[Turn]:
    """Return the teams with submissions that may be built now.

    Takes one probe of the index per repository, however many submissions wait.
    """
    open_ones = Repository.objects.filter(track__competition__archived_at=None).order_by()
    rows = open_ones.values_list("entry", _first("received_at", now), "entry__low_priority")
    oldest: dict[int, Turn] = {}
    for entry, received_at, low_priority in rows:
        if received_at is not None:
            turn = Turn(Priority.BOARD, entry, received_at, low_priority=low_priority)
            oldest[entry] = min(oldest.get(entry, turn), turn, key=lambda each: each.queued_at)
    return list(oldest.values())


def next_build(entry: int | None, now: datetime) -> int | None:
    """Return the key of the team's oldest submission that may be built now; None if there is none."""
    firsts = Repository.objects.filter(entry=entry).order_by().values_list(_first("pk", now), flat=True)
    return min((key for key in firsts if key is not None), default=None)


def waiting_builds(now: datetime) -> QuerySet[Submission]:
    """Return the submissions that may be built now, oldest first."""
    return _received().exclude(pk__in=paused_submissions(now))


def held_builds() -> list[Held]:
    """Return the builds that builders hold now; at most one per process."""
    rows = Build.objects.filter(lease_until__isnull=False).order_by()
    held = rows.values_list("submission__repository__entry", "started_at", "lease_until")
    return [Held(Priority.BOARD, *row) for row in held]


def _received() -> QuerySet[Submission]:
    received = Submission.objects.filter(state=Submission.State.RECEIVED)
    return received.filter(repository__track__competition__archived_at=None).order_by("pk")


def _first(column: str, now: datetime) -> Subquery:
    """Return a column of the oldest submission of a repository that may be built now."""
    own = waiting_builds(now).filter(repository=OuterRef("pk"))
    return Subquery(own.order_by("repository_id", "pk").values(column)[:1])  # the order of the index
