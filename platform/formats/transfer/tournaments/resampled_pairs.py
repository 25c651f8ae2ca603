"""Adapter: what the resamples of intervals draw of each pair, kept with its total: newcomers need only their own."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.scoring.score_intervals import Drawn, PairSums, pair_sums
from evaluation.scoring.bootstrap_constants import RESAMPLES
from formats.transfer.tournaments.engine_runs import sizes_of
from formats.transfer.tournaments.labels_by_image import images_of
from formats.transfer.tournaments.models import PairTotal, Tournament
from formats.transfer.tournaments.selectors import progress_of_players
from submissions.models import Player

_NUMBER = np.dtype("<u4")
_SIZE = 4 * RESAMPLES * _NUMBER.itemsize
_PAIR = ("tournament", "attack", "defence")


def keep_sums(
    tournament: Tournament, attacks: Sequence[Player], defences: Sequence[Player]
) -> dict[tuple[str, str], PairSums]:
    """Compute and keep the sums of the pairs without any; return those of pairs that are not played wholly.

    Labels are read of one attack at a time. Raise `ValueError` if the rows of the runs contradict each other.
    """
    sizes = sizes_of(tournament)
    epsilons = [epsilon for epsilon, images in sizes for _ in range(images)]
    known = set(
        tournament.pair_totals.filter(attack__in=attacks, defence__in=defences)
        .exclude(resampled=b"")
        .values_list("attack", "defence")
    )
    lacking = {
        attack: own
        for attack in attacks
        if (own := [defence for defence in defences if (attack.pk, defence.pk) not in known])
    }
    progress = progress_of_players(tournament, len(sizes), attacks=[attack.pk for attack in lacking])
    unfinished: dict[tuple[str, str], PairSums] = {}
    for attack, own in lacking.items():
        totals = []
        for defence, sums in zip(own, pair_sums(images_of(tournament, [attack], own), epsilons), strict=True):
            if progress.pair_is_played(attack.pk, defence.pk):
                totals.append(PairTotal(tournament=tournament, attack=attack, defence=defence, resampled=_packed(sums)))
            else:
                unfinished[str(attack.pk), str(defence.pk)] = sums
        # of a total that is there, nothing else changes
        PairTotal.objects.bulk_create(totals, update_conflicts=True, update_fields=["resampled"], unique_fields=_PAIR)
    return unfinished


def kept_sums(tournament: Tournament, player: Player, pairs: Sequence[PairCounts]) -> list[PairSums]:
    """Return the sums of the `pairs` of a player, of which all are kept."""
    own = tournament.pair_totals.filter(attack=player) | tournament.pair_totals.filter(defence=player)
    rows = own.order_by().values_list("attack", "defence", "resampled")
    kept = {(str(attack), str(defence)): packed for attack, defence, packed in rows}
    return [PairSums(pair, *_unpacked(kept[pair.attack, pair.defence])) for pair in pairs]


def _packed(sums: PairSums) -> bytes:
    numbers = np.array([sums.made, sums.labelled, sums.correct, sums.hits], _NUMBER)
    return zlib.compress(numbers.tobytes(), 1)


def _unpacked(packed: bytes | memoryview) -> Sequence[Drawn]:
    numbers = np.frombuffer(zlib.decompress(packed, bufsize=_SIZE), _NUMBER)
    return list(numbers.astype(np.int32).reshape(4, RESAMPLES))
