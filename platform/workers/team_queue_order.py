"""Order of the teams in the queue, and their use of the workers, over all kinds of work."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import F, Q, Sum

from workers.fair_share import DAY, RECENT, Precedence, Use, precedence
from workers.models import Priority, WorkerTime
from workers.work_kind_interface import Held, Role, Turn, Work, kinds_of


def in_order(turns: Sequence[tuple[Work[Any], Turn]], now: datetime, role: Role) -> list[tuple[Work[Any], Turn]]:
    """Return turns of the kinds of `role` in the order in which they are served.

    By priority, then by `workers.fair_share`, then by age. Rounds belong to no team: there only the age counts.
    """
    teams = {turn.entry for _, turn in turns if turn.priority != Priority.ROUND}
    used = uses(teams, now, role) if len(teams) > 1 else {}
    most = role.limit()

    def place(each: tuple[Work[Any], Turn]) -> tuple[int, Precedence, datetime]:
        turn = each[1]
        use = Use() if turn.priority == Priority.ROUND else used.get(turn.entry, Use())
        limit = most if turn.entry is not None else float("inf")
        return turn.priority, precedence(use, limit=limit, low_priority=turn.low_priority), turn.queued_at

    return sorted(turns, key=place)


OF_TEAMS = (Priority.BOARD, Priority.UNRANKED)
"""The priorities of work that uses the share of a team, or that of no team."""

PLAY = Role("play", limit=lambda: settings.TEAM_WORKER_SECONDS)
"""Workers that play for leaderboards and rounds."""


def worker_time(teams: Collection[int | None], now: datetime, role: Role) -> dict[int | None, tuple[float, float]]:
    """Return the seconds of `role` that each team used in the last hour and the last day, rounds excluded.

    Whole hours count: "the last hour" is up to two hours, and "the last day" at least 23.
    """
    hour = now.replace(minute=0, second=0, microsecond=0)
    of_them = Q(entry__in=[team for team in teams if team is not None])
    if None in teams:
        of_them |= Q(entry=None)
    spent = WorkerTime.objects.filter(of_them, role=role.name, hour__gt=hour - DAY)
    recent = Sum("seconds", filter=Q(hour__gte=hour - RECENT), default=0.0)
    rows = spent.order_by().values_list("entry").annotate(recent=recent, day=Sum("seconds"))
    return {entry: (last_hour, day) for entry, last_hour, day in rows}


def uses(teams: Collection[int | None], now: datetime, role: Role = PLAY) -> dict[int | None, Use]:
    """Return each team's use at `now` of the workers of `role`: what ended, and what they hold for it now."""
    spent = worker_time(teams, now, role)
    held = [each for kind in kinds_of(role) for each in kind.held() if each.priority in OF_TEAMS]
    running = Counter(each.entry for each in held)
    going: defaultdict[int | None, float] = defaultdict(float)
    for each in held:
        going[each.entry] += _seconds(each.since, now)
    return {
        team: Use(running[team], *(seconds + going[team] for seconds in spent.get(team, (0.0, 0.0)))) for team in teams
    }


def charge(held: Held, now: datetime, role: Role = PLAY) -> None:
    """Count the time from the claim of an item to its end at `now` against the team's share of `role`.

    Last in its transaction, to lock the row briefly.
    """
    if held.priority not in OF_TEAMS:
        return
    hour = now.replace(minute=0, second=0, microsecond=0)
    whose: dict[str, Any] = {"role": role.name, "entry_id": held.entry, "hour": hour}
    spent, _ = WorkerTime.objects.get_or_create(**whose)
    WorkerTime.objects.filter(pk=spent.pk).update(seconds=F("seconds") + _seconds(held.since, now))


def charge_all(ended: Iterable[Held], now: datetime) -> None:
    """Charge several items, in the order of their teams: no two transactions wait for each other's rows."""
    for held in sorted(ended, key=lambda each: each.entry or 0):
        charge(held, now)


def over_limit(teams: Collection[int | None], now: datetime, role: Role = PLAY) -> set[int | None]:
    """Return the teams that used more than their daily share of the workers: others are served first."""
    most = role.limit()
    return {team for team, use in uses(set(teams) - {None}, now, role).items() if use.day >= most}


def _seconds(since: datetime | None, until: datetime) -> float:
    return max(0.0, (until - since).total_seconds()) if since else 0.0
