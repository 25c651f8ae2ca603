"""Adapter: the labels of the runs of a tournament, image by image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from competitions.sample_store import classes_of
from evaluation.formats.transfer.results import NO_LABEL
from evaluation.formats.transfer.rules import TransferTrack
from evaluation.formats.transfer.scoring.score_intervals import PairImages, pair_images
from formats.transfer.tournaments.engine_runs import sizes_of
from formats.transfer.tournaments.models import DefenceRun, Run, Tournament
from submissions.models import Player

_Value = TypeVar("_Value")


def images_of(tournament: Tournament, attacks: Sequence[Player], defences: Sequence[Player]) -> list[PairImages]:
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
