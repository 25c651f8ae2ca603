"""Totals of the pairs of a tournament: each commit adds its run, and rankings and steps read them instead of all runs.

A played run never changes, so a total is always the sum over the played runs of its pair.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from numpy.typing import NDArray

from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.rules import TransferTrack
from formats.transfer.tournaments.models import DefenceRun, PairTotal, Run, Tournament
from submissions.models import Player

_SECONDS = np.dtype("<f8")


class _Sums(NamedTuple):
    """The columns of a total."""

    played: int = 0
    labelled: int = 0
    correct: int = 0
    hits: int = 0
    seconds: bytes = b""


def add(run: DefenceRun, result: Mapping[str, Any]) -> None:
    """Add the `result` of a run to the total of its pair, in the transaction that commits it."""
    of = run.attack_run
    total = _locked(of.tournament_id, of.attack_id, run.defence_id)
    PairTotal.objects.filter(pk=total.pk).update(
        played=total.played + 1,
        labelled=total.labelled + (result["labelled"] or 0),
        correct=total.correct + (result["correct"] or 0),
        hits=total.hits + (result["hits"] or 0),
        seconds=_packed([*_unpacked([total.seconds]), result["seconds"] or 0.0]),
        resampled=b"",
    )


def pair_counts(tournament: Tournament, attacks: Sequence[Player], defences: Sequence[Player]) -> list[PairCounts]:
    """Return the counts of each attack against each defence over all played batches, by the keys of their players."""
    runs = tournament.attack_runs.filter(attack__in=[each.pk for each in attacks], state=Run.State.PLAYED)
    sums = runs.order_by().values_list("attack").annotate(all=Sum("images"), made_all=Sum("made"))
    made = {attack: (images, count) for attack, images, count in sums}
    rows = _totals(tournament, attacks, defences).values_list("attack", "defence", "labelled", "correct", "hits")
    answers = {(attack, defence): counts for attack, defence, *counts in rows}
    return paired(attacks, defences, made, answers)


def paired(
    attacks: Sequence[Player],
    defences: Sequence[Player],
    made: Mapping[int, tuple[int, int]],
    answers: Mapping[tuple[int, int], Sequence[int]],
) -> list[PairCounts]:
    """Return the counts of each pair: `made` has the images of each attack and how many it made, `answers` the labels.

    An attack without a played batch has no pairs.
    """
    return [
        PairCounts(
            str(attack.pk),
            str(defence.pk),
            attack.track_name == TransferTrack.TARGETED_ATTACK,
            *made[attack.pk],
            *answers.get((attack.pk, defence.pk), (0, 0, 0)),
        )
        for attack in attacks
        if attack.pk in made
        for defence in defences
    ]


def seconds_of(tournament: Tournament, attacks: Sequence[Player], defences: Sequence[Player]) -> dict[str, list[float]]:
    """Return the seconds of each player's batches, by its key as a text."""
    found: dict[str, list[float]] = defaultdict(list)
    runs = tournament.attack_runs.filter(attack__in=[each.pk for each in attacks], state=Run.State.PLAYED)
    for player, seconds in runs.order_by().values_list("attack", "seconds"):
        found[str(player)].append(seconds or 0.0)
    packed: dict[int, list[bytes | memoryview]] = defaultdict(list)
    for player, each in _totals(tournament, attacks, defences).values_list("defence", "seconds"):
        packed[player].append(each)
    return dict(found) | {str(player): np.sort(_unpacked(parts)).tolist() for player, parts in packed.items()}


def labelled_batches(tournament: Tournament, players: Collection[int] | None = None) -> dict[tuple[int, int], int]:
    """Return the number of played batches of each attack and defence; with `players`, only of pairs of one of them."""
    of_players = Q() if players is None else Q(attack__in=players) | Q(defence__in=players)
    rows = tournament.pair_totals.filter(of_players).order_by().values_list("attack", "defence", "played")
    return {(attack, defence): count for attack, defence, count in rows}


def differing(tournament: Tournament, *, repair: bool = False) -> Iterator[tuple[PairTotal, dict[str, Any]]]:
    """Yield the totals that differ from the played runs of their pairs, each with the columns as they should be.

    With `repair`, they are written. The site may run meanwhile.
    """
    expected = _from_runs(tournament)
    stored: defaultdict[tuple[int, int], _Sums] = defaultdict(_Sums)
    for attack, defence, *columns in tournament.pair_totals.order_by().values_list("attack", "defence", *_Sums._fields):
        stored[attack, defence] = _Sums(*columns)._replace(seconds=bytes(columns[-1]))
    for key in sorted(key for key in {*expected, *stored} if expected[key] != stored[key]):
        with transaction.atomic():
            # a run that was committed meanwhile is in both or in neither: commits lock the total
            total, own = _locked(tournament.pk, *key), _from_runs(tournament, *key)[key]
            changes = {
                name: value
                for name, value in own._asdict().items()
                if (bytes(total.seconds) if name == "seconds" else getattr(total, name)) != value
            }
            if changes:
                yield total, changes
            if changes and repair:
                PairTotal.objects.filter(pk=total.pk).update(**changes, resampled=b"")
            else:
                transaction.set_rollback(True)  # a missing total is made only to be locked


def _from_runs(
    tournament: Tournament, attack: int | None = None, defence: int | None = None
) -> defaultdict[tuple[int, int], _Sums]:
    """Return the totals of all pairs, or of one, as they follow from the played runs."""
    runs = DefenceRun.objects.filter(attack_run__tournament=tournament, state=Run.State.PLAYED).order_by()
    if attack is not None:
        runs = runs.filter(attack_run__attack=attack, defence=defence)
    found: defaultdict[tuple[int, int], _Sums] = defaultdict(_Sums)
    seconds: defaultdict[tuple[int, int], array[float]] = defaultdict(lambda: array("d"))
    columns = ("attack_run__attack", "defence", "labelled", "correct", "hits", "seconds")
    for attacking, defending, labelled, correct, hits, spent in runs.values_list(*columns).iterator(chunk_size=10_000):
        sums = found[attacking, defending]
        found[attacking, defending] = _Sums(
            sums.played + 1, sums.labelled + (labelled or 0), sums.correct + (correct or 0), sums.hits + (hits or 0)
        )
        seconds[attacking, defending].append(spent or 0.0)
    for pair, own in seconds.items():
        found[pair] = found[pair]._replace(seconds=_packed(own))
    return found


def _locked(tournament: int, attack: int, defence: int) -> PairTotal:
    """Return the total of a pair, locked; make it if there is none."""
    rows = PairTotal.objects.select_for_update(no_key=True, of=("self",))
    return rows.get_or_create(tournament_id=tournament, attack_id=attack, defence_id=defence)[0]


def _totals(tournament: Tournament, attacks: Iterable[Player], defences: Iterable[Player]) -> QuerySet[PairTotal]:
    keys = [each.pk for each in attacks], [each.pk for each in defences]
    return tournament.pair_totals.filter(attack__in=keys[0], defence__in=keys[1]).order_by()


def _packed(seconds: Iterable[float]) -> bytes:
    return np.sort(np.fromiter(seconds, _SECONDS)).tobytes()


def _unpacked(parts: Iterable[bytes | memoryview]) -> NDArray[np.float64]:
    return np.frombuffer(b"".join(parts), _SECONDS)
