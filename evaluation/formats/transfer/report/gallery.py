"""The gallery of the transfer format: for each attack and epsilon, the image that fooled most defences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.samples import class_name
from evaluation.formats.transfer.results import NO_LABEL, AttackBatch
from evaluation.formats.transfer.rules import TransferTrack
from evaluation.formats.transfer.runner.batches import Batch
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.report.pictures import PicturedSample, first, pictures_of

Labels = Mapping[str, NDArray[np.int16]]
"""The labels of a batch by defence."""


@dataclass(frozen=True)
class TransferItem(PicturedSample):
    """An image of an attack: the sample, the target of a targeted attack, and the label of each defence by its name."""

    attack: str
    epsilon: int
    sample: int
    target: str
    labels: Mapping[str, str]
    fooled: int


def of_transfer(result: TransferResult, class_names: Sequence[str]) -> list[TransferItem]:
    """Return an image of each attack at each epsilon, if it fooled a defence; what fooled most defences comes first."""
    batches = {batch.number: batch for batch in result.batches}
    best: dict[tuple[int, str], tuple[int, AttackBatch, int]] = {}
    for made in result.made:
        labels = _labels(result, made)
        for place, fooled in enumerate(_fooled(result, made, batches[made.batch], labels)):
            key = (made.epsilon, made.attack)
            if fooled and (key not in best or fooled > best[key][0]):
                best[key] = (fooled, made, place)
    order = {name: place for place, name in enumerate(dict.fromkeys(made.attack for made in result.made))}
    chosen = sorted(best, key=lambda key: (-best[key][0], key[0], order[key[1]]))
    return first(_items(result, [best[key] for key in chosen], batches, class_names))


def _items(
    result: TransferResult,
    chosen: Sequence[tuple[int, AttackBatch, int]],
    batches: Mapping[int, Batch],
    class_names: Sequence[str],
) -> Iterator[TransferItem]:
    for fooled, made, place in chosen:
        sample = batches[made.batch].samples[place]
        targeted = _targeted(result, made.attack)
        given = {name: int(labels[place]) for name, labels in _labels(result, made).items()}
        wrong = [label for label in given.values() if label not in (NO_LABEL, sample.label)]
        found = sample.target if targeted else max(wrong, key=wrong.count)
        yield TransferItem(
            pictures=pictures_of(sample.image, made.images[place]),
            label=class_name(class_names, sample.label),
            found=class_name(class_names, found),
            attack=made.attack,
            epsilon=made.epsilon,
            sample=sample.number,
            target=class_name(class_names, sample.target) if targeted else "",
            labels={name: class_name(class_names, label) for name, label in given.items()},
            fooled=fooled,
        )


def _fooled(result: TransferResult, made: AttackBatch, batch: Batch, labels: Labels) -> list[int]:
    """Return for each image of a batch how many defences it fooled."""
    targeted = _targeted(result, made.attack)
    goals = np.array([sample.target if targeted else sample.label for sample in batch.samples])
    counts = np.zeros(len(batch.samples), np.int64)
    for given in labels.values():
        counts += (given == goals) if targeted else (given != goals) & (given != NO_LABEL)
    return [int(count) for count in counts]


def _labels(result: TransferResult, made: AttackBatch) -> Labels:
    return {
        part.defence: part.labels for part in result.labelled if (part.attack, part.batch) == (made.attack, made.batch)
    }


def _targeted(result: TransferResult, attack: str) -> bool:
    return any(player.name == attack and player.track is TransferTrack.TARGETED_ATTACK for player in result.attacks)
