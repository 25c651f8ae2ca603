"""Adapter: the intervals of the scores of a tournament, computed by the engine from the labels of its runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

import numpy as np

from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.rules import TransferTrack
from evaluation.formats.transfer.scoring.score_intervals import (
    LEAST_IMAGES,
    PairSums,
    ScoreInterval,
    interval_from_sums,
    score_intervals,
    score_ranks,
)
from evaluation.formats.transfer.scoring.scores import TransferStanding, opponent_weights
from evaluation.scoring.rank_intervals import RankInterval
from formats.transfer.tournaments.engine_runs import rules_of, sizes_of
from formats.transfer.tournaments.labels_by_image import images_of
from formats.transfer.tournaments.models import Tournament
from formats.transfer.tournaments.resampled_pairs import keep_sums, kept_sums
from submissions.models import Player

__all__ = [
    "RankInterval",
    "ScoreInterval",
    "intervals_from_images",
    "intervals_from_sums",
    "lacks_intervals",
    "score_ranks",
]


def intervals_from_images(
    tournament: Tournament, rows: Sequence[TransferStanding], attacks: Sequence[Player], defences: Sequence[Player]
) -> dict[str, ScoreInterval]:
    """Return the interval of the score of each player, by its key as a text; none with too few images.

    `rows` are the standings of all tracks over these attacks and defences. All labels are read. Raise `ValueError` if
    the rows of the runs contradict each other.
    """
    epsilons = _epsilons_of(tournament)
    if len(epsilons) < LEAST_IMAGES:
        return {}
    images, opponents = images_of(tournament, attacks, defences), rules_of(tournament).opponents
    found: dict[str, ScoreInterval] = {}
    for track in TransferTrack:
        own = [row for row in rows if row.track is track]
        found |= score_intervals(images, own, epsilons=epsilons, opponents=opponents)
    return found


def intervals_from_sums(
    tournament: Tournament,
    rows: Sequence[TransferStanding],
    attacks: Sequence[Player],
    defences: Sequence[Player],
    pairs: Sequence[PairCounts],
) -> dict[str, ScoreInterval]:
    """Return the same to the last bit from the sums that are kept of each pair, read of one player at a time.

    `pairs` are the counts that `rows` follow from.
    """
    epsilons = _epsilons_of(tournament)
    if len(epsilons) < LEAST_IMAGES:
        return {}
    unfinished = keep_sums(tournament, attacks, defences)
    players = {str(player.pk): player for player in (*attacks, *defences)}
    opponents = rules_of(tournament).opponents
    found: dict[str, ScoreInterval] = {}
    for track in TransferTrack:
        defending = track is TransferTrack.DEFENCE
        weights = opponent_weights(pairs, defending=defending, opponents=opponents)
        mine: dict[str, list[PairCounts]] = defaultdict(list)
        for pair in pairs:
            mine[pair.defence if defending else pair.attack].append(pair)
        for row in rows:
            if row.track is not track or row.score is None:
                continue
            own, met = players[row.name], mine[row.name]
            finished = [pair for pair in met if (pair.attack, pair.defence) not in unfinished]
            sums = {(each.counts.attack, each.counts.defence): each for each in kept_sums(tournament, own, finished)}
            against = [(sums | unfinished)[pair.attack, pair.defence] for pair in met]
            sides = (attacks, [own]) if defending else ([own], defences)
            found[row.name] = interval_from_sums(
                row.score,
                against,
                [weights[pair.attack if defending else pair.defence] for pair in met],
                epsilons=epsilons,
                defending=defending,
                images=partial(_images, tournament, sides, against, defending=defending),
            )
    return found


def lacks_intervals(tournament: Tournament) -> bool:
    """Return True if an entrant that counts has a score but no interval: the step that ranked it was interrupted."""
    if tournament.sample_set.count < LEAST_IMAGES:
        return False
    return tournament.entrants.filter(left_at=None, score__isnull=False, low=None).exists()


def _images(
    tournament: Tournament,
    sides: tuple[Sequence[Player], Sequence[Player]],
    sums: Sequence[PairSums],
    *,
    defending: bool,
) -> int:
    """Return the number of images that count in at least one of the pairs; labels are read only if no pair has all."""
    most = max(each.images(defending=defending) for each in sums)
    if most == sums[0].counts.images == tournament.sample_set.count:
        return most
    possible = [pair.possible(defending=defending) for pair in images_of(tournament, *sides)]
    return int(np.count_nonzero(np.any(possible, axis=0)))


def _epsilons_of(tournament: Tournament) -> list[int]:
    return [epsilon for epsilon, images in sizes_of(tournament) for _ in range(images)]
