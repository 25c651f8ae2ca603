"""The organiser's dashboard of a round: state, cost, entries, eliminations, and what publishing would change.

It consists of sections of tables, in the order in which organisers need them. Its format fills a part of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.html import format_html

from core import clock
from core.time_format import in_words
from rounds.formats import format_of, round_formats
from rounds.models import Objection, Release, Round
from rounds.objections.period import ResultState, result_state
from rounds.objections.selectors import all_objections
from rounds.publishing.preview import warnings
from rounds.release.released_parts import parts_of
from rounds.running.dashboard_tables import BEFORE_SCORE, DashboardTable, Section, entries
from rounds.running.transitions import NEXT_STEPS, NO_WORKER
from workers.selectors import live_workers

State = Round.State

STATE_TEXT = {
    State.PLANNED: "Planned. It is frozen automatically when its window begins.",
    State.FROZEN: "Frozen: the entries are fixed. Nothing plays until you start it.",
    State.PLAYING: "Running. This page refreshes every 15 seconds.",
    State.PAUSED: "Paused: what was running is finished, and nothing new starts until you resume it.",
    State.SCORED: "Scored, visible to organisers only. Check the preview, then publish the result.",
    State.PUBLISHED: "Published: the result is public and does not change. You can now release files.",
    State.CANCELLED: "Cancelled: it has no result.",
}
PREVIEW = "Nothing here is public or in force until you publish the round."


@dataclass(frozen=True)
class Dashboard:
    """The whole dashboard."""

    state: str
    """What the round waits for, in sentences."""
    window: str
    """When its freeze window is, in words."""
    next_act: str
    """The verb of what organisers do next; "" where they wait, or nothing is left to do."""
    problem: str
    percent: int | None
    """The share of what is to be played at most that is played; None if unknown."""
    progress: str
    sections: Sequence[Section]


def dashboard(round_: Round) -> Dashboard:
    """Return the dashboard of the round, in a number of queries that does not grow with the round."""
    round_format = format_of(round_)
    views = round_format.preview(round_) if round_.state == State.SCORED else []
    part = round_format.dashboard_part(round_, views)
    runs = round_.state in BEFORE_SCORE
    releases = list(round_.releases.select_related("released_by").order_by("pk"))
    sections = [
        *part.work,
        Section("What publishing changes", part.changes, " ".join([PREVIEW, *warnings(views)])),
        Section("Entries", entries(round_, part.cut) if runs else []),
        _objections(round_),
        Section("Standings", part.standings),
        *part.log,
        Section("Releases", _releases(round_, releases)),
        Section("Workers", [_workers()] if runs else [], folded=True),
    ]
    shown = [section for section in sections if section.tables]
    return Dashboard(
        state=STATE_TEXT[State(round_.state)],
        window=_window(round_),
        next_act=_next_act(round_, releases),
        problem=round_.problem or _missing(round_),
        percent=part.percent,
        progress=part.progress,
        sections=shown,
    )


def _window(round_: Round) -> str:
    """Return when the freeze window of the round is, in words."""
    window, now = round_.window, clock.now()
    if window.called_off_at is not None:
        return "called off"
    if now < window.starts_at:
        return f"from {in_words(window.starts_at)} to {in_words(window.ends_at)}"
    if now < window.ends_at:
        return f"open until {in_words(window.ends_at)}; no submission is accepted"
    return f"ended {in_words(window.ends_at)}"


def _next_act(round_: Round, releases: Sequence[Release]) -> str:
    """Return the verb of the next step that organisers can take now, "" without one."""
    if round_.state == State.PLANNED and clock.now() < round_.window.starts_at:
        return ""
    if round_.state == State.PUBLISHED:
        return "" if any(row.withdrawn_at is None for row in releases) else "release"
    return NEXT_STEPS[State(round_.state)].verb


def _missing(round_: Round) -> str:
    """Return what a round lacks that is going to be played, "" if nothing."""
    waits = round_.state in (State.PLANNED, State.FROZEN)
    return NO_WORKER if waits and not live_workers().exists() else ""


def _objections(round_: Round) -> Section:
    """Return the objections to the result, the open ones first, and whether it is final."""
    result = result_state(round_)
    if result is None:
        return Section("Objections", [])
    shown = all_objections(round_)
    shown.sort(key=lambda each: each.row.state != Objection.State.OPEN)
    rows = [(_linked(each.row), each.title, each.row.get_state_display(), each.row.made_at) for each in shown]
    table = DashboardTable("", ("objection", "to", "state", "made"), rows)
    return Section("Objections", [table], _words(result))


def _linked(row: Objection) -> str:
    address = reverse("admin:rounds_objection_change", args=[row.pk])
    return format_html('<a class="text-link" href="{}">{} by {}</a>', address, row.pk, row.team.name)


def _words(result: ResultState) -> str:
    if not result.over:
        return f"The result is provisional: teams may object until {in_words(result.until)}."
    if result.open:
        return "The result is provisional until each objection has an answer: uphold or reject it, with a reason."
    return f"The result is final: objections were accepted until {in_words(result.until)}, and none is open."


def _releases(round_: Round, made: Sequence[Release]) -> list[DashboardTable]:
    rows: list[tuple[object, ...]] = [
        (_file(round_, row), row.released_at, row.released_by, row.withdrawn_at or "public") for row in made
    ]
    if round_.state == State.PUBLISHED:
        public = {row.part for row in made if row.withdrawn_at is None}
        rows += [(part.label, "", "", "not public") for part in parts_of(round_) if part not in public]
    return [DashboardTable("", ("part", "released", "by", "withdrawn"), rows)] if rows else []


def _file(round_: Round, row: Release) -> str:
    """Return the title of a released part, with a link where it is a file that is public."""
    title = str(row.get_part_display())
    if row.withdrawn_at is not None or not row.content:
        return title
    address = reverse("pages:round_file", args=[round_.competition.slug, round_.number, row.part])
    return format_html('<a class="text-link" href="{}">{}</a>', address, title)


def _workers() -> DashboardTable:
    """Return the live workers, and which of them play."""
    playing = {name for format_name in round_formats for name in round_formats[format_name].playing_workers()}
    rows = [
        (worker.name, worker.worker_class, "plays" if worker.name in playing else "waits") for worker in live_workers()
    ]
    return DashboardTable(f"{len(rows)} live", ("worker", "class", ""), rows)
