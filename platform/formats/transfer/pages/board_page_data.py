"""The leaderboard of a track: its page, its columns as CSV, and its first rows on cards and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.http import HttpRequest

from competitions.board_freezes import frozen_since
from competitions.models import Competition, Entry, Track
from core.leaderboard_resolution_text import shares_separated
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.interval_bar_axis import axis_of_shares
from evaluation.formats.transfer.rules import Opponents, TransferRules
from formats.transfer.pages.board_csv import COLUMNS
from formats.transfer.tournaments.boards import TransferBoard, TransferBoardRow, best_of, board_of, newest_entrants
from formats.transfer.tracks import ATTACK, ATTACK_TRACKS, DEFENCE, TARGETED_ATTACK
from pages.board.freeze_notice import Freeze, freeze_of
from pages.board.track_cards import TOP, CardRow, TrackCard
from pages.csv_and_svg_downloads import table_of
from pages.formats import BoardContent, PublicScore
from pages.share.picture import SharedRow
from pages.templatetags.gauntlet import accuracy
from rounds.selectors import StandingRow

EVERY = 10


def board_content(request: HttpRequest, track: Track) -> BoardContent:
    """Return the leaderboard of a track: who counts, and who is being evaluated."""
    competition = track.competition
    freeze = freeze_of(competition, request.user)
    found = TransferBoard() if freeze else board_of(track)
    context = {
        "targeted": track.name == TARGETED_ATTACK,
        "defending": track.name == DEFENCE,
        "board": found,
        "frozen": freeze,
        "axis": axis_of_shares(),
        "separation": _separation(found),
        "complete": _only_complete_count(competition),
        "matrix_track": track.name if track.name in ATTACK_TRACKS else ATTACK,
    }
    return BoardContent(
        template="formats/transfer/board.html",
        context=context,
        live="formats/transfer/parts/board.html",
        every=EVERY,
    )


def board_table(request: HttpRequest, track: Track) -> ChartTable:
    """Return the whole leaderboard of a track, without rows while it is hidden."""
    found = TransferBoard() if freeze_of(track.competition, request.user) else board_of(track)
    return table_of(found.rows, COLUMNS)


def _separation(found: TransferBoard) -> str:
    """Return what the images of a leaderboard separate."""
    ranked = [(row.score, row.rank_low) for row in found.rows if row.score is not None and row.rank_low is not None]
    return shares_separated(ranked, found.images)


def _only_complete_count(competition: Competition) -> bool:
    """Return whether only opponents count that processed every image, under the rules in force."""
    rules = competition.rules_versions.first()
    return rules is not None and rules.rules_as(TransferRules).opponents == Opponents.COMPLETE


def cards(tracks: Sequence[Track], freezes: Mapping[int, Freeze]) -> list[TrackCard]:
    """Return the card of each track, without rows while the leaderboards are frozen; in a fixed number of queries."""
    best = _best(tracks, TOP, freezes)
    found = []
    for track in tracks:
        freeze = freezes.get(track.competition_id)
        top = best.get(track.pk, ())
        better = "Larger share is better"
        found.append(
            TrackCard(
                track=track,
                top=[_card_row(row) for row in top],
                frozen=freeze,
                hides=True,
                better=f"{better}. {'Baselines are left out.'}" if top else better,
                nothing="Hidden during the freeze." if freeze else "No scores yet.",
            )
        )
    return found


def _best(
    tracks: Sequence[Track], count: int, freezes: Mapping[int, Freeze]
) -> Mapping[int, Sequence[TransferBoardRow]]:
    return best_of([track for track in tracks if track.competition_id not in freezes], count)


def public_scores(track: Track, most: int, entry: Entry | None = None) -> list[PublicScore]:
    """Return the newest public scores of a track, or of a team on it; none while the leaderboards are frozen."""
    if frozen_since(track.competition) is not None:
        return []
    return [
        PublicScore(each.submission, each.entered_at, accuracy(each.score))
        for each in newest_entrants(track, most, entry)
        if each.submission
    ]


def _card_row(row: TransferBoardRow) -> CardRow:
    return CardRow(
        rank=row.rank,
        team=row.team,
        team_slug=row.team_slug,
        submission=row.submission,
        title=row.title,
        score=accuracy(row.score),
        interval="",
        scored_at=row.entered_at,
    )


def shared_rows(tracks: Sequence[Track], freezes: Mapping[int, Freeze], most: int) -> Mapping[int, Sequence[SharedRow]]:
    """Return the first rows of the leaderboard of each track by its key, as pictures show them."""
    best = _best(tracks, most, freezes)
    return {
        track.pk: [
            SharedRow(str(row.rank), row.team, f"{100 * (row.score or 0):.1f} %") for row in best.get(track.pk, ())
        ]
        for track in tracks
    }


def shared_winner(row: StandingRow) -> SharedRow:
    """Return a place of a round as pictures show it."""
    return SharedRow(str(row.place), row.team, "" if row.value is None else f"{100 * row.value:.1f} %")
