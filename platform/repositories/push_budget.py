"""The push budget: the processor time that the pushes of a team may cost a web host in an hour.

A push reserves a part of what is left before it begins, may use no more than that, and gives back what it did not use:
so pushes at the same time share the budget, and do not multiply it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F, Q, QuerySet

from accounts.models import Team
from core import clock, platform_error_report
from core.errors import Refusal, RefusedForNow
from core.time_format import to_minute
from evaluation.parsing.processor_time_meter import Meter
from repositories.git_command import MAX_CPU_SECONDS
from repositories.models import PushCost

log = logging.getLogger(__name__)

WINDOW = timedelta(hours=1)

FREE_FAULTS = 10
"""Pushes of a team in a window that end with a platform error and cost nothing; further ones are charged."""

_PART = 4
"""A push reserves one part of so many of what is left."""

_PARTS_OF_LEAST = 20
"""It reserves at least one part of so many of the whole budget, and is rejected where that is not left."""

_MARGIN = timedelta(minutes=1)
"""A push that has not ended so long after its time limit never will: its web process is gone."""


class PushBudgetRefusal(RefusedForNow):
    """The push budget of a team is used."""


@dataclass
class Account:
    """What a push may cost, in seconds, and the `meter` of what it costs; `platform_error` if the site failed."""

    limit: float
    meter: Meter = field(default_factory=Meter)
    platform_error: bool = False

    def require(self, seconds: float) -> None:
        """Raise `Refusal` if a push that cost `seconds` already has used what it may cost."""
        if seconds >= self.limit:
            raise Refusal(
                f"receiving this push took {seconds:,.0f} s of the web server's processor time; "
                f"your team has {self.limit:,.0f} s for it now",
                fix="push fewer and smaller files, or push again in an hour",
            )


class Ended(NamedTuple):
    """Pushes that ended: when, and the seconds that they cost."""

    at: datetime
    seconds: float


@contextmanager
def charged(team: Team) -> Iterator[Account]:
    """Reserve a part of the team's push budget for the block, and charge afterwards what its account's meter has.

    Raise `PushBudgetRefusal` if too little is left. A block that raises anything but a `Refusal` is a platform error.
    """
    cost = _reserved(team)
    account = Account(limit=cost.seconds)
    try:
        yield account
    except Refusal:
        raise
    except BaseException:
        account.platform_error = True
        raise
    finally:
        _settle(cost, account)


def _reserved(team: Team) -> PushCost:
    budget: int = settings.TEAM_PUSH_SECONDS
    least = budget / _PARTS_OF_LEAST
    with transaction.atomic():
        _lock(team)
        now = clock.database_now()
        _forget(PushCost.objects.filter(team=team), now)
        costs = list(PushCost.objects.filter(team=team, platform_error=False))
        ended = sorted(Ended(cost.ended_at, cost.seconds) for cost in costs if cost.ended_at is not None)
        used = sum(push.seconds for push in ended)
        left = budget - sum(cost.seconds for cost in costs)
        if left >= least:
            seconds = max(least, min(MAX_CPU_SECONDS, left / _PART))
            return PushCost.objects.create(team=team, begun_at=now, seconds=seconds)
    if budget - used >= least:
        raise PushBudgetRefusal(
            f"other pushes of {team.name} are in progress and may use the rest of its push budget",
            accepted_from=now + timedelta(minutes=1),
            fix="wait until they have ended, then push again",
        )
    raise PushBudgetRefusal(
        f"the pushes of {team.name} used {round(used):,} s of the web server's processor time within an hour; "
        f"its push budget is {budget:,} s",
        accepted_from=free_from(ended, budget=budget, needed=least),
        fix="push less often, or fewer and smaller files; rejected pushes count, too",
    )


def free_from(ended: Sequence[Ended], *, budget: float, needed: float) -> datetime:
    """Return when `needed` seconds of `budget` are left, if nothing is pushed meanwhile.

    `ended` is not empty, and the oldest comes first.
    """
    left = budget - sum(push.seconds for push in ended)
    for push in ended:
        left += push.seconds
        if left >= needed:
            break
    return push.at + WINDOW


def forget_old_costs() -> None:
    """Delete what no window holds any more."""
    _forget(PushCost.objects.all(), clock.database_now())


def _forget(costs: QuerySet[PushCost], now: datetime) -> None:
    longest = timedelta(seconds=settings.MAX_EXCHANGE_SECONDS) + _MARGIN
    costs.filter(Q(ended_at__lte=now - WINDOW) | Q(ended_at=None, begun_at__lte=now - longest)).delete()


def _lock(team: Team) -> None:
    """Lock the team's row until the transaction ends: all decisions on its budget wait here."""
    Team.objects.select_for_update().get(pk=team.pk)


def _settle(cost: PushCost, account: Account) -> None:
    try:
        with transaction.atomic():
            _lock(cost.team)
            _record(cost, account.meter.seconds, platform_error=account.platform_error)
    except DatabaseError as error:  # the reservation lapses
        platform_error_report.report(log, error, "what a push of %s cost is not recorded", cost.team)


def _record(cost: PushCost, seconds: float, *, platform_error: bool) -> None:
    """Record what a push cost: in one row for all that end within a minute, so that their number costs nothing."""
    now = clock.database_now()
    others = PushCost.objects.filter(team=cost.team).exclude(pk=cost.pk)
    known_faults = others.filter(platform_error=True, ended_at__gt=now - WINDOW).count()
    cost.seconds, cost.platform_error = seconds, platform_error and known_faults < FREE_FAULTS
    cost.ended_at = now if cost.platform_error else to_minute(now)
    same = others.filter(platform_error=False, ended_at=cost.ended_at)
    if not cost.platform_error and same.update(seconds=F("seconds") + seconds):
        cost.delete()
    else:
        cost.save()
