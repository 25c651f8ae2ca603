"""The matrix of attacks and defences in the transfer format, of leaderboards and of rounds, as a heat map of shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.http import Http404, HttpRequest
from django.urls import reverse

from competitions.models import Competition, Track
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.heat_map_colours import HeatColours, Pair
from evaluation.formats.transfer.results import PairCounts
from formats.transfer.pages.board_csv import share
from formats.transfer.pages.entrant_names import best_first, name_of
from formats.transfer.rounds.round_advancement import frozen_tournament
from formats.transfer.tournaments import pair_totals
from formats.transfer.tournaments.boards import row_of, tournament_in_force
from formats.transfer.tournaments.models import Entrant, Tournament
from formats.transfer.tournaments.pair_tables import epsilons_of, success, success_interval
from formats.transfer.tournaments.selectors import counts_from_runs, current_entrants
from formats.transfer.tracks import DEFENCE
from pages.board.freeze_notice import freeze_of
from pages.formats import MatrixContent
from pages.matrix.heat_map import HeatMap, HeatMapAxis, matrix_address
from rounds.models import Round

_COLOURS = HeatColours(1.0)


@dataclass(frozen=True)
class ShareMap(HeatMap):
    """Attacks from top to bottom and defences from left to right: the share of images with a point.

    `epsilon` is that of the batches, None for all; `epsilons` are those to choose from. `pairs` is the beginning of the
    addresses of the pairs.
    """

    pairs: str
    epsilon: int | None = None
    epsilons: Sequence[int] = ()
    cells: Mapping[tuple[int, int], PairCounts] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether no pair met."""
        return not self.cells

    @property
    def legend(self) -> Sequence[tuple[str, str]]:
        """Each colour with the percentages from which on it stands for."""
        return [(colour, f"{float(start):.0%}".replace("%", "\u00a0%")) for colour, start in _COLOURS.legend]

    @property
    def table(self) -> ChartTable:
        """A row for each pair."""
        columns = ("attack", "attack team", "defence", "defence team", "epsilon", "images", "made", "labelled")
        rows = [
            (
                *(attack.name.title, attack.name.team, defence.name.title, defence.name.team),
                *(self.epsilon, cell.images, cell.made, cell.labelled, cell.correct, cell.hits),
                *map(share, (success(cell), *(success_interval(cell) or (None, None)))),
            )
            for attack in self.down
            for defence in self.across
            if (cell := self.cells.get((attack.player, defence.player))) is not None
        ]
        return ChartTable((*columns, "correct", "hits", "share", "low", "high"), rows)

    def colour(self, down: int, across: int) -> str:
        """Return the colour of an attack and a defence, "" where there is no share."""
        cell = self.cells.get((down, across))
        value = None if cell is None else success(cell)
        return "" if value is None else _COLOURS.of(Pair(value, 0, 1))

    def content(self, down: int, across: int) -> str | None:
        """Return the share in percent, as a link to the pair."""
        cell = self.cells.get((down, across))
        if cell is None:
            return None
        value = success(cell)
        text = "\N{EN DASH}" if value is None else f"{100 * value:.1f}".replace(".", self.point)
        low, high = success_interval(cell) or (0.0, 1.0)
        words = f"95 %: {100 * low:.0f}\N{EN DASH}{100 * high:.0f}"
        return f'<a href="{self.pairs}{down}/{across}" title="{words}">{text}</a>'


def pairs_address(competition: Competition, played: Round | None) -> str:
    """Return the beginning of the addresses of the pairs of a round, or of the leaderboards if `played` is None."""
    name, place = ("round_pair", [played.number]) if played else ("transfer_pair", [])
    return reverse(f"pages:{name}", args=[competition.slug, *place, 0, 0]).removesuffix("0/0")


def matrix_content(request: HttpRequest, attacks: Track, played: Round | None) -> MatrixContent:
    """Return every attack of a track against every defence, over all batches or those of `?epsilon=`.

    They are those of the leaderboards, or of the round `played`. Raise 404 for an epsilon that no batch has.
    """
    hidden = played is None and freeze_of(attacks.competition, request.user) is not None
    found = share_map(attacks, request.GET.get("epsilon", ""), hidden=hidden, played=played)
    if found is None:
        raise Http404("no batch has this epsilon")
    return MatrixContent(
        template="formats/transfer/matrix.html",
        map=found,
        chosen=query_of(found.epsilon),
        suffix=f"-epsilon-{found.epsilon}" if found.epsilon else "",
    )


def share_map(track: Track, epsilon: str, *, hidden: bool, played: Round | None = None) -> ShareMap | None:
    """Return the matrix of the attacks of a track, in a number of queries that does not depend on its size.

    It is that of the leaderboards, or of the round `played`. `epsilon` is a number as text, "" for all batches; the
    result is None if no batch has it. Without rows if `hidden`.
    """
    tournament = frozen_tournament(played) if played else tournament_in_force(track.competition)
    epsilons = epsilons_of(tournament) if tournament else []
    if epsilon and (not epsilon.isdecimal() or int(epsilon) not in epsilons):
        return None
    empty = ShareMap(
        f"{track.title} against defences",
        down=(),
        across=(),
        csv=matrix_address(track, played, csv=True),
        pairs=pairs_address(track.competition, played),
    )
    if tournament is None or hidden:
        return empty
    return _filled(empty, track, tournament, int(epsilon) if epsilon else None, epsilons)


def query_of(epsilon: int | None) -> str:
    """Return the query of the address of a matrix over the batches of an epsilon, "" for all batches."""
    return f"?epsilon={epsilon}" if epsilon else ""


def _filled(
    empty: ShareMap, track: Track, tournament: Tournament, epsilon: int | None, epsilons: Sequence[int]
) -> ShareMap:
    inside = list(current_entrants(tournament))
    attacks = best_first(each for each in inside if each.track_id == track.pk)
    defences = best_first(each for each in inside if each.track.name == DEFENCE)
    sides = [e.player for e in attacks], [e.player for e in defences]
    pairs = counts_from_runs(tournament, *sides, epsilon) if epsilon else pair_totals.pair_counts(tournament, *sides)
    return replace(
        empty,
        down=[_side(each) for each in attacks],
        across=[_side(each) for each in defences],
        csv=f"{empty.csv}{query_of(epsilon)}",
        epsilon=epsilon,
        epsilons=epsilons,
        cells={(int(pair.attack), int(pair.defence)): pair for pair in pairs},
    )


def _side(entrant: Entrant) -> HeatMapAxis:
    row = row_of(entrant)
    score = "" if row.score is None else f"{100 * row.score:.1f}"
    return HeatMapAxis(row.player, name_of(row), score)
