"""Comparison of attacks on the same images of one model: medians by number of queries, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.formats.query.scoring.scores_v1 import interval, resampled_medians
from evaluation.scoring.bootstrap_constants import RESAMPLES
from evaluation.scoring.distances import Distances

LEAST_DISTANCE = 1 / 255
"""The distance of two images that differ in one value by one level."""


@dataclass(frozen=True)
class Estimate:
    """A statistic over images; `low` and `high` bound its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ComparedAttack:
    """One attack among others against the same model.

    `medians` are those after each of the chosen numbers of queries. `ratio` is the geometric mean over images of its
    last distance over that of the attack with the smallest last median, None for that attack itself; `nearer` counts
    the images on which it ended nearer. `within` counts the images with a success within each chosen distance; the
    worst case of an image without an adversarial is none. `optimality` is the median ratio of its last distances to the
    best known ones.
    """

    name: str
    medians: tuple[Estimate, ...]
    ratio: Estimate | None
    nearer: int
    within: tuple[int, ...]
    optimality: float


def compare_attacks(
    closest: Mapping[str, Distances],
    found: Mapping[str, NDArray[np.bool_]],
    within: Sequence[float],
    reference: Distances | None = None,
) -> list[ComparedAttack]:
    """Return the attacks by their last median, smallest first; the first of equals is the best.

    `closest` has for each attack the distances of its closest adversarials, (images, numbers of queries), on the same
    images, all of which the model labels right, and `found` for which images it has one, (images,). `reference`,
    (images,), is the distance of an adversarial that somebody else found, infinity where there is none. Raise
    `ValueError` without an image.
    """
    if not all(len(distances) for distances in closest.values()):
        raise ValueError("a comparison needs at least one image")
    last = {name: distances[:, -1] for name, distances in closest.items()}
    best = min(last, key=lambda name: float(np.median(last[name])))
    known = best_known(closest, reference)
    return sorted(
        (
            ComparedAttack(
                name=name,
                medians=tuple(_median(column) for column in distances.T),
                ratio=None if name == best else geometric_mean_ratio(last[name], last[best]),
                nearer=int((last[name] < last[best]).sum()),
                within=tuple(int((found[name] & (last[name] <= distance)).sum()) for distance in within),
                optimality=float(np.median(_ratios(last[name], known))),
            )
            for name, distances in closest.items()
        ),
        key=lambda row: row.medians[-1].value,
    )


def best_known(closest: Mapping[str, Distances], reference: Distances | None = None) -> Distances:
    """Return the smallest distance of each image that any of the attacks or the reference reached."""
    found = np.min([distances[:, -1] for distances in closest.values()], axis=0)
    known: Distances = found if reference is None else np.minimum(found, reference)
    return known


def _ratios(ones: Distances, known: Distances) -> Distances:
    """Return the ratios of distances to the best known ones: 1 where both are 0, infinite where only the latter is.

    A model that answers its clean image otherwise when it is asked again has an adversarial at the distance 0.
    """
    unknown = np.where(ones > 0, np.inf, 1.0)
    ratios: Distances = np.divide(ones, known, out=unknown, where=known > 0)
    return ratios


def geometric_mean_ratio(ones: Distances, others: Distances) -> Estimate:
    """Return the geometric mean of the ratios of two attacks' distances, (images,) each, on the same images.

    Images differ by far more than attacks do, so that intervals of two medians overlap where this one excludes 1.
    """
    logarithms = np.log(np.maximum(ones, LEAST_DISTANCE) / np.maximum(others, LEAST_DISTANCE))
    drawn = np.random.RandomState(0).randint(0, len(logarithms), size=(RESAMPLES, len(logarithms)))
    low, high = interval(logarithms[drawn].mean(axis=1))
    return Estimate(*(float(np.exp(value)) for value in (logarithms.mean(), low, high)))


def _median(distances: Distances) -> Estimate:
    low, high = interval(resampled_medians(distances[np.newaxis]))
    return Estimate(float(np.median(distances)), low, high)
