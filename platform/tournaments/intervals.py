"""Adapter: the intervals of the scores of a tournament, computed by the engine from the labels of its runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from competitions.sample_store import classes_of
from evaluation.domain.transfer_results import NO_LABEL
from evaluation.domain.transfer_rules import TransferTrack
from evaluation.scoring.rank_intervals import RankInterval
from evaluation.scoring.transfer import TransferStanding
from evaluation.scoring.transfer_intervals import (
    LEAST_IMAGES,
    PairImages,
    ScoreInterval,
    pair_images,
    score_intervals,
    score_ranks,
)
from submissions.models import Player
from tournaments.engine_adapter import rules_of, sizes_of
from tournaments.models import DefenceRun, Run, Tournament

__all__ = ["RankInterval", "ScoreInterval", "intervals_of", "lacks_intervals", "score_ranks"]

_Value = TypeVar("_Value")


def intervals_of(
    tournament: Tournament, rows: Sequence[TransferStanding], attacks: Iterable[Player], defences: Iterable[Player]
) -> dict[str, ScoreInterval]:
    """Return the interval of the score of each player, by its key as a text; none with too few images.

    `rows` are the standings of all tracks over these attacks and defences. Raise `ValueError` if the rows of the runs
    contradict each other.
    """
    epsilons = [epsilon for epsilon, images in sizes_of(tournament) for _ in range(images)]
    if len(epsilons) < LEAST_IMAGES:
        return {}
    images, opponents = _images_of(tournament, list(attacks), list(defences)), rules_of(tournament).opponents
    found: dict[str, ScoreInterval] = {}
    for track in TransferTrack:
        own = [row for row in rows if row.track is track]
        found |= score_intervals(images, own, epsilons=epsilons, opponents=opponents)
    return found


def lacks_intervals(tournament: Tournament) -> bool:
    """Return True if an entrant that counts has a score but no interval: an older version ranked it."""
    if tournament.sample_set.count < LEAST_IMAGES:
        return False
    return tournament.entrants.filter(left_at=None, score__isnull=False, low=None).exists()


def _images_of(tournament: Tournament, attacks: Sequence[Player], defences: Sequence[Player]) -> list[PairImages]:
    """Return each attack against each defence, image by image.

    Images of batches that were not attacked yet count as not made, those that were not given to the defence yet as not
    labelled.
    """
    truth, targets = classes_of(tournament.sample_set)
    sizes = [images for _, images in sizes_of(tournament)]
    made: dict[int, dict[int, list[bool]]] = defaultdict(dict)
    runs = tournament.attack_runs.filter(attack__in=[each.pk for each in attacks], state=Run.State.PLAYED)
    for attack_key, batch, hashes in runs.order_by().values_list("attack", "batch", "hashes"):
        made[attack_key][batch] = list(map(bool, hashes))
    labels: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(dict)
    labelled = DefenceRun.objects.filter(
        attack_run__in=runs.values("pk"), defence__in=[each.pk for each in defences], state=Run.State.PLAYED
    )
    columns = ("attack_run__attack", "defence", "attack_run__batch", "labels")
    for attack_key, defence_key, batch, given in labelled.order_by().values_list(*columns).iterator(chunk_size=1000):
        labels[attack_key, defence_key][batch] = given
    return [
        pair_images(
            str(attack.pk),
            str(defence.pk),
            targeted=attack.track_name == TransferTrack.TARGETED_ATTACK,
            made=_joined(made[attack.pk], sizes, missing=False),
            labels=_joined(labels[attack.pk, defence.pk], sizes, missing=NO_LABEL),
            truth=truth,
            targets=targets,
        )
        for attack in attacks
        for defence in defences
    ]


def _joined(by_batch: Mapping[int, Sequence[_Value]], sizes: Sequence[int], *, missing: _Value) -> list[_Value]:
    """Return the values of all images, `missing` for those of a batch without any."""
    return [value for number, images in enumerate(sizes) for value in by_batch.get(number, [missing] * images)]
