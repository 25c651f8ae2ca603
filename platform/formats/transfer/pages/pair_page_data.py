"""An attack against a defence of the transfer format: counts by epsilon, runs, and errors by class where public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator

from competitions.models import Track
from evaluation.domain.samples import class_name
from evaluation.formats.transfer.results import PairCounts
from formats.transfer.pages.entrant_names import best_first, name_of
from formats.transfer.pages.run_notes import RUNS_PER_PAGE, notes_of, row_notes_of
from formats.transfer.tournaments import pair_totals
from formats.transfer.tournaments.boards import row_of
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Tournament
from formats.transfer.tournaments.pair_tables import class_errors, counts_by_epsilon, success, success_interval
from formats.transfer.tournaments.selectors import current_entrants
from formats.transfer.tracks import ATTACK_TRACKS, DEFENCE, TARGETED_ATTACK
from pages.player_names import PlayerName, names_of
from submissions.models import Player


@dataclass(frozen=True)
class CountRow:
    """The counts of a pair over the batches of an epsilon, or of all for None, with the share of `success`.

    `low` to `high` is its 95 % interval over images.
    """

    epsilon: int | None
    counts: PairCounts
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class BatchRow:
    """A batch: the run of the attack, and that of the defence if it exists."""

    attack_run: AttackRun
    defence_run: DefenceRun | None


@dataclass(frozen=True)
class ErrorRow:
    """The errors of a defence on the images of a class; `confused` is the class that it named most often instead."""

    name: str
    labelled: int
    wrong: int
    confused: str


@dataclass(frozen=True)
class PairPage:
    """What the page of a pair shows. `errors` is None for people who do not see them."""

    attack: PlayerName
    defence: PlayerName
    defence_key: int
    track: Track
    targeted: bool
    rows: Sequence[CountRow]
    batches: Sequence[BatchRow]
    page: Page[AttackRun]
    image_notes: Sequence[tuple[str, int]]
    row_notes: Sequence[tuple[str, int]]
    errors: Sequence[ErrorRow] | None


def pair_page(
    tournament: Tournament, attack: int, defence: int, *, others: bool, errors: bool, page: str
) -> PairPage | None:
    """Return the page of two entrants of a tournament; with `others` also of players that met and left.

    With `errors` by class. `page` is that of the runs.
    """
    known = {each.player_id: each for each in best_first(current_entrants(tournament))}
    names = {key: name_of(row_of(entrant)) for key, entrant in known.items()}
    if others:
        names = names_of([attack, defence]) | names
    players = {each.pk: each for each in Player.objects.filter(pk__in={attack, defence} & names.keys())}
    sides = players.get(attack), players.get(defence)
    if sides[0] is None or sides[1] is None:
        return None
    if sides[0].track_name not in ATTACK_TRACKS or sides[1].track_name != DEFENCE:
        return None
    whole = pair_totals.pair_counts(tournament, [sides[0]], [sides[1]])
    return _page(tournament, sides[0], sides[1], whole[0], names, errors=errors, page=page) if whole else None


def _page(
    tournament: Tournament,
    attack: Player,
    defence: Player,
    whole: PairCounts,
    names: Mapping[int, PlayerName],
    *,
    errors: bool,
    page: str,
) -> PairPage:
    rows = [_count_row(epsilon, counts) for epsilon, counts in counts_by_epsilon(tournament, attack, defence)]
    attack_runs = list(tournament.attack_runs.filter(attack=attack).order_by("batch"))
    labelled = DefenceRun.objects.filter(attack_run__tournament=tournament, attack_run__attack=attack, defence=defence)
    defence_runs = {run.attack_run_id: run for run in labelled}
    shown = Paginator(attack_runs, RUNS_PER_PAGE).get_page(page)
    return PairPage(
        attack=names[attack.pk],
        defence=names[defence.pk],
        defence_key=defence.pk,
        track=tournament.competition.tracks.get(name=attack.track_name),
        targeted=attack.track_name == TARGETED_ATTACK,
        rows=[_count_row(None, whole), *(rows if len(rows) > 1 else ())],
        batches=[BatchRow(run, defence_runs.get(run.pk)) for run in shown],
        page=shown,
        image_notes=notes_of(attack_runs),
        row_notes=row_notes_of(list(defence_runs.values())),
        errors=_errors(tournament, attack, defence) if errors else None,
    )


def _count_row(epsilon: int | None, counts: PairCounts) -> CountRow:
    low, high = success_interval(counts) or (None, None)
    return CountRow(epsilon, counts, success(counts), low, high)


def _errors(tournament: Tournament, attack: Player, defence: Player) -> list[ErrorRow]:
    classes = tournament.sample_set.class_names
    return [
        ErrorRow(
            class_name(classes, row.label),
            row.total.labelled,
            row.total.wrong,
            "" if row.total.confused is None else class_name(classes, row.total.confused),
        )
        for row in class_errors(tournament, attack, defence)
    ]
