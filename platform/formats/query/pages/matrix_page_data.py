"""The matrix of models and attacks: of the leaderboards of a competition, and of a round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Min
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse

from accounts.models import User
from competitions.board_freezes import sees_live
from competitions.models import Competition, Track
from core import rounding
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.heat_map_colours import HeatColours, Pair, colours_for
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.score_visibility import board
from formats.query.matches.models import Match
from formats.query.pages.rules_table import scale
from formats.query.rounds.match_visibility import scores_seen
from formats.query.rounds.models import RoundMatch
from formats.query.tracks import MODEL
from pages.formats import MatrixContent
from pages.matrix.heat_map import HeatMap, HeatMapAxis, matrix_address
from pages.player_names import PlayerName, names_of
from rounds import selectors as rounds
from rounds.models import Round
from rounds.selectors import StandingRow
from submissions.models import Submission

MOST = 100
"""At most this many rows of each leaderboard are in the matrix of a competition."""


@dataclass(slots=True)
class MatrixCell(Pair):
    """A model against an attack, with their match."""

    match: int | None


@dataclass(frozen=True)
class DistanceMap(HeatMap):
    """Models from top to bottom and attacks from left to right: the median distance of each pair."""

    cells: Mapping[tuple[int, int], MatrixCell] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether no pair met."""
        return not self.cells

    @cached_property
    def colours(self) -> HeatColours:
        """The colours of the cells."""
        return colours_for(self.cells.values())

    @cached_property
    def _classes(self) -> Mapping[tuple[int, int], str]:
        """The colour of each pair."""
        return {pair: self.colours.of(cell) for pair, cell in self.cells.items()}

    @property
    def legend(self) -> Sequence[tuple[str, str]]:
        """Each colour with the distances from which on it stands for."""
        return self.colours.legend

    @property
    def table(self) -> ChartTable:
        """A row for each pair."""
        columns = ("model", "model team", "attack", "attack team", "median distance", "held", "samples", "match")
        rows = [
            (
                *(model.name.title, model.name.team, attack.name.title, attack.name.team),
                *(rounding.distance(cell.median), cell.held, cell.samples, cell.match),
            )
            for model in self.down
            for attack in self.across
            if (cell := self.cells.get((model.player, attack.player))) is not None
        ]
        return ChartTable(columns, rows)

    def colour(self, down: int, across: int) -> str:
        """Return the colour of a model and an attack, "" where they did not meet."""
        return self._classes.get((down, across), "")

    def content(self, down: int, across: int) -> str | None:
        """Return the median distance, as a link to the match."""
        cell = self.cells.get((down, across))
        if cell is None:
            return None
        text = f"{rounding.distance(cell.median):.2f}".replace(".", self.point)
        return text if cell.match is None else f'<a href="{self._matches}{cell.match}">{text}</a>'

    @cached_property
    def _matches(self) -> str:
        """The beginning of the address of every match."""
        return reverse("pages:match", args=[0])[:-1]


def matrix_content(request: HttpRequest, attacks: Track, played: Round | None) -> MatrixContent:
    """Return the pairs behind the leaderboards that the reader sees, or those that the outcome of a round uses."""
    competition = attacks.competition
    if played:
        found, rules = of_round(played, attacks), played.rules
    else:
        models = get_object_or_404(competition.tracks, name=MODEL)
        found, rules = of_competition(models, attacks, request.user), competition.rules_versions.first()
    context = {"scale": scale(rules) if rules else ""}
    return MatrixContent(template="formats/query/matrix.html", context=context, map=found)


def of_competition(models: Track, attacks: Track, user: User | AnonymousUser) -> DistanceMap:
    """Return the pairs behind the leaderboards that the person sees: the best hundred of each, and the pools.

    In a number of queries that does not grow with them. A pair comes from the newest score of either side.
    """
    competition = attacks.competition
    frozen = not sees_live(user, competition)
    shown = {track: board(track, frozen=frozen, page_rows=MOST).rows for track in (models, attacks)}
    submissions = [row.submission for rows in shown.values() for row in rows]
    played = Submission.objects.filter(pk__in=submissions, player__isnull=False)
    players: dict[int, int] = dict(played.values_list("pk", "player"))
    cells = _cells(_newest(submissions, competition, user))
    pools = _pool_players(competition)
    sides: dict[Track, list[HeatMapAxis]] = {}
    others: dict[Track, list[int]] = {}
    for track, rows in shown.items():
        ranked = {players[row.submission]: row for row in rows if row.submission in players}
        sides[track] = [
            HeatMapAxis(player, PlayerName(row.title, row.team, row.submission), _score(row.value))
            for player, row in ranked.items()
        ]
        met = {pair[track is attacks] for pair in cells}
        others[track] = [player for player in pools.get(track.pk, ()) if player not in ranked and player in met]
    names = names_of(player for found in others.values() for player in found)
    for track, found in others.items():
        sides[track] += [HeatMapAxis(player, names[player]) for player in found]
    return DistanceMap(
        f"{models.title} against {attacks.title}",
        sides[models],
        sides[attacks],
        matrix_address(attacks, None, csv=True),
        cells,
    )


def _newest(submissions: Sequence[int], competition: Competition, user: User | AnonymousUser) -> list[int]:
    """Return the key of the newest score of each submission that the person sees."""
    seen = Evaluation.objects.filter(scores_seen(competition, user), submission__in=submissions)
    oldest_first = seen.order_by("pool_id", "rules_id", "sample_set_id", "pk")
    return list(dict(oldest_first.values_list("submission", "pk")).values())


def _cells(evaluations: Sequence[int]) -> dict[tuple[int, int], MatrixCell]:
    """Return the pairs of these evaluations, each from its newest match, in two queries."""
    # 1. both sides of a pair have its match: their figures are the same, and those of one are enough
    matches = Match.objects.filter(evaluations__in=evaluations).values("pk", "model", "attack")
    of_pair = {
        (model, attack): (match, evaluation)
        for match, model, attack, evaluation in matches.annotate(evaluation=Min("evaluations"))
        .order_by("pk")
        .values_list("pk", "model", "attack", "evaluation")
    }
    # 2. the figures, by evaluation and opponent
    used = Evaluation.objects.filter(pk__in={evaluation for _, evaluation in of_pair.values()}).order_by()
    opponents: dict[int, dict[int, dict[str, Any]]] = {}
    samples: dict[int, int] = {}
    for evaluation, count, rows in used.values_list("pk", "samples", "per_opponent"):
        opponents[evaluation] = {row["player"]: row for row in rows}
        samples[evaluation] = count or 0
    return {
        pair: MatrixCell(known["median"], known["failures"], samples[evaluation], match)
        for pair, (match, evaluation) in of_pair.items()
        if (known := opponents[evaluation].get(pair[0]) or opponents[evaluation].get(pair[1]))
    }


def _pool_players(competition: Competition) -> dict[int, list[int]]:
    """Return the players of the pool in force of each track, in its order."""
    found: dict[int, tuple[int, list[int]]] = {}
    places = Pool.objects.filter(track__competition=competition, players__isnull=False)
    for track, number, player in places.order_by("number", "places__place").values_list(
        "track", "number", "places__player"
    ):
        if track not in found or found[track][0] != number:
            found[track] = number, []
        found[track][1].append(player)
    return {track: players for track, (_, players) in found.items()}


def of_round(played: Round, attack_track: Track) -> DistanceMap:
    """Return the pairs that the outcome of a published round uses, in the order of its standings; in two queries."""
    standings = rounds.standings(played)
    models, attacks = standings[MODEL], standings[attack_track.name]
    rows = RoundMatch.objects.filter(round=played, samples__gt=0, match__attack__track_name=attack_track.name)
    columns = ("match__model", "match__attack", "median", "held", "samples", "match")
    cells = {
        (model, attack): MatrixCell(median, held or 0, samples, match)
        for model, attack, median, held, samples, match in rows.values_list(*columns)
        if median is not None
    }
    met = {player for pair in cells for player in pair}

    def side(entries: Iterable[StandingRow]) -> list[HeatMapAxis]:
        players = {row.player: row for row in entries if row.player in met}
        return [
            HeatMapAxis(player, PlayerName(row.title, row.team, row.submission), _score(row.value))
            for player, row in players.items()
        ]

    address = matrix_address(attack_track, played, csv=True)
    return DistanceMap(played.title, side(models), side(attacks), address, cells)


def _score(value: float | None) -> str:
    return "" if value is None else f"{rounding.distance(value):.2f}"
