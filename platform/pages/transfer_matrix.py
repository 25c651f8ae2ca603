"""The matrix of attacks and defences in the transfer format, of leaderboards and of rounds, as a heat map of shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from django.urls import reverse
from django.utils.formats import get_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from competitions.models import Competition, Track
from core.numbers import local
from evaluation.charts.heat_colours import HeatColours, Pair
from evaluation.charts.table import Table
from evaluation.domain.transfer_results import PairCounts
from formats.transfer.rounds.progression import tournament_of
from pages.heat_map import SMALL, Side
from pages.players import PlayerName
from pages.transfer_board import share
from rounds.models import Round
from tournaments import totals
from tournaments.boards import BoardRow, in_order, row_of, tournament_in_force
from tournaments.models import Entrant, Tournament
from tournaments.pair_tables import epsilons_of, success, success_interval
from tournaments.selectors import counts_from_runs, current_entrants

_COLOURS = HeatColours(1.0)


@dataclass(frozen=True)
class ShareMap:
    """Attacks from top to bottom and defences from left to right, best first: the share of images with a point.

    `epsilon` is that of the batches, None for all; `epsilons` are those to choose from. `played` is the round whose
    pairs it shows, None for those of the leaderboards.
    """

    title: str
    competition: Competition
    track: Track
    played: Round | None = None
    epsilon: int | None = None
    epsilons: Sequence[int] = ()
    attacks: Sequence[Side] = ()
    defences: Sequence[Side] = ()
    cells: Mapping[tuple[int, int], PairCounts] = field(default_factory=dict)

    @property
    def csv(self) -> str:
        """The address of the CSV file."""
        address = matrix_address(self.competition, self.played, self.track, csv=True)
        return f"{address}?epsilon={self.epsilon}" if self.epsilon else address

    @property
    def legend(self) -> Sequence[tuple[str, str]]:
        """Each colour with the percentages from which on it stands for."""
        return [(colour, f"{float(start):.0%}".replace("%", "\u00a0%")) for colour, start in _COLOURS.legend]

    @property
    def is_large(self) -> bool:
        """Whether it needs a picture of the whole."""
        return max(len(self.attacks), len(self.defences)) > SMALL

    @property
    def table(self) -> Table:
        """A row for each pair."""
        columns = ("attack", "attack team", "defence", "defence team", "epsilon", "images", "made", "labelled")
        rows = [
            (
                *(attack.name.title, attack.name.team, defence.name.title, defence.name.team),
                *(self.epsilon, cell.images, cell.made, cell.labelled, cell.correct, cell.hits),
                *map(share, (success(cell), *(success_interval(cell) or (None, None)))),
            )
            for attack in self.attacks
            for defence in self.defences
            if (cell := self.cells.get((attack.player, defence.player))) is not None
        ]
        return Table((*columns, "correct", "hits", "share", "low", "high"), rows)

    def rows(self) -> Sequence[tuple[Side, SafeString]]:
        """Return each attack with its cells as HTML."""
        address = pair_address(self.competition, self.played, 0, 0).removesuffix("0/0")
        point = get_format("DECIMAL_SEPARATOR")
        return [
            (attack, SafeString("".join(self._cell(attack, defence, address, point) for defence in self.defences)))
            for attack in self.attacks
        ]

    def areas(self) -> Sequence[tuple[str, str]]:
        """Return the picture of the whole: for each colour an SVG path of its cells, each of height 1."""
        paths: dict[str, list[str]] = {}
        for y, attack in enumerate(self.attacks):
            row = enumerate(self._colour(attack.player, defence.player) for defence in self.defences)
            for colour, run in groupby(row, key=itemgetter(1)):
                (x, _), *others = run
                if colour:
                    width = 1 + len(others)
                    paths.setdefault(colour, []).append(f"M{x} {y}h{width}v1h-{width}z")
        return sorted((colour, "".join(path)) for colour, path in paths.items())

    def _colour(self, attack: int, defence: int) -> str:
        cell = self.cells.get((attack, defence))
        value = None if cell is None else success(cell)
        return "" if value is None else _COLOURS.of(Pair(value, 0, 1))

    def _cell(self, attack: Side, defence: Side, address: str, point: str) -> str:
        cell = self.cells.get((attack.player, defence.player))
        if cell is None:
            return "<td></td>"
        value = success(cell)
        text = "\N{EN DASH}" if value is None else f"{100 * value:.1f}".replace(".", point)
        low, high = success_interval(cell) or (0.0, 1.0)
        words = f"95 %: {100 * low:.0f}\N{EN DASH}{100 * high:.0f}"
        link = f'<a href="{address}{attack.player}/{defence.player}" title="{words}">{text}</a>'
        colour = self._colour(attack.player, defence.player)
        return f'<td class="{colour}">{link}</td>' if colour else f"<td>{link}</td>"


def matrix_address(competition: Competition, played: Round | None, track: Track, *, csv: bool = False) -> str:
    """Return the address of the matrix of a round, or of the leaderboards if `played` is None."""
    name, place = ("round_matrix", [played.number]) if played else ("matrix", [])
    return reverse(f"pages:{name}_csv" if csv else f"pages:{name}", args=[competition.slug, *place, track.name])


def pair_address(competition: Competition, played: Round | None, attack: int, defence: int) -> str:
    """Return the address of a pair of a round, or of the leaderboards if `played` is None."""
    name, place = ("round_pair", [played.number]) if played else ("transfer_pair", [])
    return reverse(f"pages:{name}", args=[competition.slug, *place, attack, defence])


def share_map(track: Track, epsilon: str, *, hidden: bool, played: Round | None = None) -> ShareMap | None:
    """Return the matrix of the attacks of a track, in a number of queries that does not depend on its size.

    It is that of the leaderboards, or of the round `played`. `epsilon` is a number as text, "" for all batches; the
    result is None if no batch has it. Without rows if `hidden`.
    """
    competition = track.competition
    empty = ShareMap(gettext("%(attacks)s against defences") % {"attacks": track.title}, competition, track, played)
    tournament = tournament_of(played) if played else tournament_in_force(competition)
    epsilons = epsilons_of(tournament) if tournament else []
    if epsilon and (not epsilon.isdecimal() or int(epsilon) not in epsilons):
        return None
    if tournament is None or hidden:
        return empty
    return _filled(empty, tournament, int(epsilon) if epsilon else None, epsilons)


def _filled(empty: ShareMap, tournament: Tournament, epsilon: int | None, epsilons: Sequence[int]) -> ShareMap:
    inside = list(current_entrants(tournament))
    attacks = best_first(each for each in inside if each.track_id == empty.track.pk)
    defences = best_first(each for each in inside if each.track.name == Track.Name.DEFENCE)
    sides = [e.player for e in attacks], [e.player for e in defences]
    pairs = counts_from_runs(tournament, *sides, epsilon) if epsilon else totals.pair_counts(tournament, *sides)
    return ShareMap(
        empty.title,
        empty.competition,
        empty.track,
        empty.played,
        epsilon,
        epsilons,
        [_side(each) for each in attacks],
        [_side(each) for each in defences],
        {(int(pair.attack), int(pair.defence)): pair for pair in pairs},
    )


def best_first(entrants: Iterable[Entrant]) -> list[Entrant]:
    """Return the entrants by rank, each player once: the same content of two teams is one player."""
    return list({each.player_id: each for each in reversed(in_order(entrants))}.values())[::-1]


def name_of(row: BoardRow) -> PlayerName:
    """Return the name of a player on a leaderboard."""
    return PlayerName(row.title, row.team, row.submission)


def _side(entrant: Entrant) -> Side:
    row = row_of(entrant)
    score = "" if row.score is None else local(f"{100 * row.score:.1f}")
    return Side(row.player, name_of(row), score)
