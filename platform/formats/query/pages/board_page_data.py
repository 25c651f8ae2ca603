"""The leaderboard of a track: its page, its columns as CSV, and its first rows on cards and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpRequest

from competitions.board_freezes import sees_live
from competitions.models import Entry, Track
from competitions.rules import teams_may_choose
from core import rounding
from core.errors import Refusal
from core.leaderboard_resolution_text import distances_separated, few_samples
from core.past_time_parameter import past_time
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.interval_bar_axis import axis_to
from evaluation.domain.score_decimals import decimals
from evaluation.formats.query.rules import QueryRules
from formats.query.leaderboards import score_visibility
from formats.query.leaderboards.board_row_selection import BoardPage, view_of
from formats.query.leaderboards.board_rows import BoardRow
from formats.query.leaderboards.evaluation_basis import (
    EvaluationBasis,
    opposing_pool,
    opposing_pool_keys,
    ranking_basis,
)
from formats.query.leaderboards.score_visibility import tops, whole_board
from formats.query.leaderboards.selection_effect import luck_on
from formats.query.pages.board_headings_and_csv_columns import COLUMNS, headings
from formats.query.pages.comparison_curves import MOST
from formats.query.pages.history_charts import sparklines
from formats.query.pages.rules_table import scale
from formats.query.tracks import MODEL
from pages import flash_messages
from pages.board.freeze_notice import Freeze
from pages.board.track_cards import TOP, CardRow, TrackCard
from pages.csv_and_svg_downloads import table_of
from pages.formats import BoardContent, PublicScore
from pages.share.picture import SharedRow
from pages.templatetags.gauntlet import digits, range_of
from rounds.selectors import StandingRow

EVERY = 10

_VIEW = {"sort": "sort", "text": "q", "show": "show"}
"""Names of the parameters of a view in the address."""


def board_content(request: HttpRequest, track: Track) -> BoardContent:
    """Return the leaderboard of a track, 50 rows on a page.

    It can be sorted (`?sort=-score`), searched (`?q=`), filtered (`?show=`), and shown as of a past time (`?at=`).
    """
    competition = track.competition
    problem = ""
    try:
        at = past_time(request.GET.get("at", ""))
    except Refusal as refusal:
        at, problem = None, flash_messages.refusal_text(refusal)
    view = view_of(**{name: request.GET.get(key, "") for name, key in _VIEW.items()})
    basis = ranking_basis(track)
    frozen = not sees_live(request.user, competition)
    page = score_visibility.board(track, request.GET.get("page", "1"), frozen=frozen, basis=basis, view=view, at=at)
    rules = basis.rules if basis else competition.rules_versions.first()
    line = rules and view.whole and _pool_line(page, rules.rules_as(QueryRules).opponents)
    until = page.frozen.since if page.frozen else page.at
    context = {
        "models": track.name == MODEL,
        "changes": any(row.change is not None for row in page.rows),
        "columns": 10 + (track.name == MODEL) + (page.at is None),
        "board": page,
        "baselines": score_visibility.baselines_of(track, inside=not frozen) if page.at is None else [],
        "view": view,
        "heads": headings(view, track.name),
        "rules_in_force": rules.version if rules else None,
        "teams_choose": rules is not None and teams_may_choose(rules.values),
        "pool_in_force": basis.pool.number if basis else None,
        "unequal_samples": _are_unequal(page, basis),
        "scale": scale(rules) if rules else "",
        "line": line,
        "separation": _separation(page) if view.whole else "",
        "axis": axis_to(page.highest),
        "most_compared": MOST,
        "sparklines": sparklines(track, page.rows, until),
        "luck": luck_on(track, [row.team_slug for row in page.rows], until=until),
        "pool_missing": not page.teams and basis is None and opposing_pool(track) is None,
        "problem": problem,
    }
    return BoardContent(
        template="formats/query/board.html",
        context=context,
        live="formats/query/parts/board.html",
        every=None if page.at else EVERY,
        status=HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK,
    )


def board_table(request: HttpRequest, track: Track) -> ChartTable:
    """Return the whole leaderboard of a track, now or at a past time (`?at=`). Raise `Refusal` for another text."""
    at = past_time(request.GET.get("at", ""))
    _, rows, _ = whole_board(track, frozen=not sees_live(request.user, track.competition), at=at)
    return table_of(rows, COLUMNS)


def _separation(page: BoardPage) -> str:
    """Return what the samples of a leaderboard separate, on its first page, and whether they are few."""
    compared = [row for row in page.rows if row.rank_low is not None] if page.number == 1 else []
    ranked = [(row.value, row.rank_low) for row in compared if row.rank_low is not None]
    if not compared:
        return ""
    samples = compared[0].samples
    return " ".join(filter(None, (distances_separated(ranked, samples), few_samples(samples))))


def _are_unequal(page: BoardPage, basis: EvaluationBasis | None) -> bool:
    """Return whether rows, of this or another page, were measured on different numbers of samples."""
    ranked = {basis.sample_set.count} if basis and page.number > 1 and page.at is None else set()
    return len({row.samples for row in page.rows} | ranked) > 1


@dataclass(frozen=True)
class PoolLine:
    """The line below the last place of a pool; `separated`: that place differs significantly from the next one."""

    place: int
    separated: bool


def _pool_line(page: BoardPage, place: int) -> PoolLine | None:
    """Return the line below a place of a leaderboard, None if it is unknown."""
    if page.number != 1 or len(page.rows) <= place:
        return None
    upper, lower = page.rows[place - 1], page.rows[place]
    if lower.rank is None or upper.rank_low is None:
        return None
    if upper.rank == lower.rank:
        return PoolLine(place, separated=False)
    return None if upper.separated is None else PoolLine(place, upper.separated)


def cards(tracks: Sequence[Track], freezes: Mapping[int, Freeze]) -> list[TrackCard]:
    """Return the card of each track, in a number of queries that does not depend on their number."""
    shown = _tops(tracks, TOP, freezes)
    pools = opposing_pool_keys(tracks)
    found = []
    for track in tracks:
        top = shown[track.pk]
        models = track.name == MODEL
        missing = not top.rows and pools[track.pk] is None
        found.append(
            TrackCard(
                track=track,
                top=[_card_row(row) for row in top.rows],
                frozen=Freeze(top.frozen.since, top.frozen.reason) if top.frozen else None,
                hides=False,
                better="Larger distance is better" if models else "Smaller distance is better",
                nothing=pool_missing(track.name) if missing else "No scores yet.",
            )
        )
    return found


def _tops(tracks: Sequence[Track], count: int, freezes: Mapping[int, Freeze]) -> Mapping[int, BoardPage]:
    return tops(tracks, count, live={track.competition_id for track in tracks} - freezes.keys())


def public_scores(track: Track, most: int, entry: Entry | None = None) -> list[PublicScore]:
    """Return the newest public scores of a track, or of a team on it."""
    return [
        PublicScore(
            each.submission,
            # a rejudged score is public from the publication of its set on
            (each.rejudging and each.rejudging.settled_at) or each.finished_at,
            "not broken" if each.not_broken else f"distance {digits(each.value, each)} ({range_of(each)})",
        )
        for each in score_visibility.newest_scores(track, most, entry)
        if each.finished_at
    ]


def _card_row(row: BoardRow) -> CardRow:
    return CardRow(
        rank=row.rank,
        team=row.team,
        team_slug=row.team_slug,
        submission=row.submission,
        title=row.title,
        score=digits(row.value, row),
        interval=range_of(row),
        scored_at=row.scored_at,
    )


def pool_missing(track_name: str) -> str:
    """Return why no player of a track has a score while the other side has no pool."""
    if track_name == MODEL:
        return "Models get a score when the pool of attacks is ready."
    return "Attacks get a score when the pool of models is ready."


def shared_rows(tracks: Sequence[Track], freezes: Mapping[int, Freeze], most: int) -> Mapping[int, Sequence[SharedRow]]:
    """Return the first rows of the leaderboard of each track by its key, as pictures show them."""
    shown = _tops(tracks, most, freezes)
    return {
        track.pk: [
            SharedRow(str(row.rank or "\N{EN DASH}"), row.team, _shared_score(row)) for row in shown[track.pk].rows
        ]
        for track in tracks
    }


def shared_winner(row: StandingRow) -> SharedRow:
    """Return a place of a round as pictures show it."""
    return SharedRow("\N{EN DASH}" if row.not_broken else str(row.place), row.team, _shared_score(row))


def _shared_score(row: BoardRow | StandingRow) -> str:
    if row.not_broken:
        return "not broken"
    if row.value is None or row.low is None or row.high is None:
        return ""
    return f"{rounding.distance(row.value):.{decimals(row.low, row.high)}f}"
