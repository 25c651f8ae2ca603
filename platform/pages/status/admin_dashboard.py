"""The first page of the admin: alarms, the queue, rounds under way, the next freezes, and the newest submissions.

Everything is limited to what the user may see in the admin, and links to its place there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from competitions.models import Competition, FreezeWindow
from core import clock
from core.administration.admin_base_classes import is_superuser
from core.disk_space import LEAST_FREE, free_bytes
from pages.formats import page_formats
from pages.status.admin_incidents import Card, incident_cards, visible
from pages.status.status_page_data import builds, formats_played
from rounds.models import Round
from rounds.running.dashboard_data import STATE_TEXT
from submissions.models import Submission

LONGEST_WAIT = timedelta(days=1)
"""How long the oldest item of a queue may wait before there is an alarm."""

NEWEST_SUBMISSIONS = 8
NEXT_FREEZES = 3


@dataclass(frozen=True)
class QueueLine:
    """A kind of work: how much waits, since when the oldest does, how much workers hold, and where it is listed."""

    title: str
    waiting: int
    oldest_since: datetime | None
    claimed: int | None
    link: str


@dataclass(frozen=True)
class RoundLine:
    """A round under way: what it waits for, and while it is played its progress in words and in percent."""

    row: Round
    state: str
    words: str
    percent: int | None
    link: str


@dataclass(frozen=True)
class FreezeLine:
    """A freeze window that has not ended, and the page where it is changed: that of its round, if it has one."""

    row: FreezeWindow
    begun: bool
    link: str


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add what the first page shows to its context."""
    lines = queue_lines()
    alarms = incident_cards(request)
    if is_superuser(request):  # disks and workers are the operators'
        alarms = [*disk_alarms(free_bytes()), *alarms, *waiting_alarms(lines, clock.now())]
    return context | {
        "incidents": alarms,
        "queues": lines,
        "rounds": round_lines(visible(request, Round.objects.all())),
        "freezes": freeze_lines(visible(request, FreezeWindow.objects.all()), clock.now()),
        "newest": newest_submissions(visible(request, Submission.objects.all())),
        "has_competition": visible(request, Competition.objects.all()).exists(),
    }


def disk_alarms(free: int) -> list[Card]:
    """Return the alarm for a state folder whose disk has `free` bytes left, if these are few."""
    if free >= LEAST_FREE:
        return []
    text = (
        f"The disk of the state folder has {free >> 20:,} MiB free. Pushes, builds and results need space: free some, "
        "or enlarge it."
    )
    return [Card("Disks that are almost full", 1, text, reverse("pages:status"))]


def waiting_alarms(lines: Sequence[QueueLine], now: datetime) -> list[Card]:
    """Return an alarm for each queue of workers whose oldest item waits for too long."""
    return [
        Card(
            f"{line.title}, the oldest for more than a day",
            line.waiting,
            "Workers are missing, or the queue is longer than they can play. See which are online.",
            line.link,
        )
        for line in lines
        if line.claimed is not None and line.oldest_since is not None and line.oldest_since < now - LONGEST_WAIT
    ]


def queue_lines() -> list[QueueLine]:
    """Return what waits for workers by format, and what waits for builders."""
    found = [
        QueueLine(f"{queue.title} waiting", queue.waiting, queue.oldest_since, queue.claimed, reverse("pages:status"))
        for queue in (each.queue() for each in formats_played())
    ]
    waiting = builds()
    states = ",".join(Submission.UNDER_WAY)
    link = f"{reverse('admin:submissions_submission_changelist')}?state__in={states}"
    return [*found, QueueLine("Submissions building or waiting", waiting.count, waiting.oldest_since, None, link)]


def round_lines(rounds: QuerySet[Round]) -> list[RoundLine]:
    """Return those of `rounds` that are frozen, played, paused, or scored and not published."""
    under_way = rounds.filter(state__in=Round.UNDER_WAY).select_related("competition", "window").order_by("pk")
    return [_round_line(each) for each in under_way]


def _round_line(row: Round) -> RoundLine:
    words, percent = "", None
    if row.state in (Round.State.PLAYING, Round.State.PAUSED):
        progress = page_formats.of(row.competition).round_progress(row)
        words = progress.words
        percent = 100 * progress.played // progress.total if progress.total else 0
    state = row.problem or STATE_TEXT[Round.State(row.state)].replace(" This page refreshes every 15 seconds.", "")
    return RoundLine(row, state, words, percent, reverse("admin:rounds_round_change", args=[row.pk]))


def freeze_lines(windows: QuerySet[FreezeWindow], now: datetime) -> list[FreezeLine]:
    """Return the first of `windows` that have not ended at `now` and are not called off."""
    coming = windows.filter(called_off_at=None, ends_at__gt=now).select_related("competition", "round")
    return [
        FreezeLine(window, window.starts_at <= now, _place_of(window))
        for window in coming.order_by("starts_at", "pk")[:NEXT_FREEZES]
    ]


def _place_of(window: FreezeWindow) -> str:
    played: Round | None = getattr(window, "round", None)
    if played is not None:
        return reverse("admin:rounds_round_change", args=[played.pk])
    return reverse("admin:competitions_freezewindow_change", args=[window.pk])


def newest_submissions(submissions: QuerySet[Submission]) -> QuerySet[Submission]:
    """Return the newest of `submissions`, with their teams and competitions."""
    related = ("repository__entry__team", "repository__track__competition")
    return submissions.select_related(*related).order_by("-received_at", "-pk")[:NEWEST_SUBMISSIONS]
