"""The tables of the organiser's dashboard of a round that all formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse
from django.utils.html import format_html

from rounds.models import Round
from rounds.publishing.preview import Preview
from rounds.selectors import StandingRow, standings
from workers.selectors import live_workers

BEFORE_SCORE = (Round.State.PLANNED, Round.State.FROZEN, Round.State.PLAYING, Round.State.PAUSED)
"""States in which a round costs workers, and has no standings."""


@dataclass(frozen=True)
class DashboardTable:
    """A table of the admin. Cells are text or links."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Section:
    """Tables under one heading, collapsed if `folded`."""

    title: str
    tables: Sequence[DashboardTable]
    text: str = ""
    folded: bool = False


@dataclass(frozen=True)
class DashboardPart:
    """The part of a dashboard that its format fills. Sections without a table are not shown."""

    work: Sequence[Section] = ()
    """What the round costs, and what failed."""
    changes: Sequence[DashboardTable] = ()
    """What publishing changes."""
    standings: Sequence[DashboardTable] = ()
    """The standings of a scored round."""
    log: Sequence[Section] = ()
    """What was decided on the way."""
    cut: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """The stages in which entries left, by the name of the track and the key of the player."""
    percent: int | None = None
    """The share of what is to be played at most that is played; None if unknown."""
    progress: str = ""
    """The same in words."""


def part_without_stages(
    round_: Round,
    views: Sequence[Preview],
    *,
    item: str,
    about: str,
    counts: tuple[int, int],
    faults: Sequence[Sequence[Any]],
    standing_tables: Callable[[Round], list[DashboardTable]],
) -> DashboardPart:
    """Return what the dashboard shows of a round in which everything that is needed is known from its start.

    `item` is what it plays, as "run". `counts` are those played and needed; `faults` has a row for each that failed.
    """
    runs = round_.state in BEFORE_SCORE
    played, needed = counts
    cost = [(f"{item.capitalize()}s played", f"{played:,}"), (f"{item.capitalize()}s needed", f"{needed:,}")]
    shown = [*(cost if needed else []), *([("Live workers", live_workers().count())] if runs else [])]
    work = [
        Section("Cost", [DashboardTable("", (), shown)] if shown else [], about),
        Section("Faults", [DashboardTable("", (item, "failure", ""), faults)] if faults else []),
    ]
    return DashboardPart(
        work,
        places(views),
        [] if runs else standing_tables(round_),
        percent=100 * played // needed if needed and runs else None,
        progress=f"{played:,} of {needed:,} {item}s are played.",
    )


def places(views: Iterable[Preview], *, titled: bool = True) -> list[DashboardTable]:
    """Return the places of each track next to the ranks on its leaderboard."""
    headers = ("place", "rank on the board", "team", "title", "why", "")
    return [
        DashboardTable(
            view.track.title if titled else "",
            headers,
            [(row.place, row.rank_before or "new", row.team, row.title, row.why, row.remark) for row in view.rows],
        )
        for view in views
    ]


def entries(round_: Round, cut: Mapping[tuple[str, int], int]) -> list[DashboardTable]:
    """Return the entries of each track in the order of their seeding, and where they left the round."""
    titles = track_titles(round_)
    headers = ("seed", "team", "title", "state", "prizes", "")
    made = []
    for track_name, rows in standings(round_).items():
        lines = [
            (
                row.prior,
                row.team,
                linked_title(row),
                f"cut in stage {stage}" if (stage := cut.get((track_name, row.player))) else "in",
                prizes(row),
                row.gone,
            )
            for row in sorted(rows, key=lambda row: row.prior)
        ]
        if lines:
            made.append(DashboardTable(titles[track_name], headers, lines))
    return made


def replay_button(route: str, key: int) -> str:
    """Return a link to the confirmation page of a replay; `route` is its name in the admin."""
    return format_html('<a class="text-link" href="{}">Replay</a>', reverse(f"admin:{route}", args=[key]))


def track_titles(round_: Round) -> dict[str, str]:
    """Return the titles of the tracks by name."""
    return {track.name: track.title for track in round_.competition.tracks.all()}


def linked_title(row: StandingRow) -> str:
    """Return the title of an entry as a link to its page."""
    entry = reverse("admin:rounds_roundentry_change", args=[row.entry])
    return format_html('<a class="text-link" href="{}">{}</a>', entry, row.title or f"submission {row.submission}")


def prizes(row: StandingRow) -> str:
    """Return whether an entry may win prizes, and why not."""
    if not row.eligible:
        return f"no: {row.ineligible_because}"
    return "yes" if row.prize_place in (None, row.place) else f"yes, as place {row.prize_place}"


def ranks(row: StandingRow) -> str:
    """Return the rank interval of an entry, "" if there is none."""
    return "" if row.rank_low is None else f"{row.rank_low} to {row.rank_high}"
