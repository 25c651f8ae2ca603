"""Curves of a match: success against distance and against queries (Dong et al. 2020, section 4.1).

A sample counts as a success where the model's answer met the criterion: an adversarial within the distance, or a clean
image that met it already (distance 0). All curves of one image shape use the same distances, so they can be compared,
and a curve says about a sample only between which two of them its adversarial lies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import GREY, ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.query.results import Outcome, Trace
from gauntlet.frames import EXHAUSTED, UNCLASSIFIED

Column = NDArray[np.float64]

_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
_DISTANCES = 21
"""Number of distances of a curve: three decades and a half."""


@dataclass(frozen=True)
class Answered:
    """The queries of one sample in order: `charged` to it so far, and the distance of each adversarial (else inf)."""

    charged: NDArray[np.int64]
    distance: Column
    worst_case: float


@dataclass(frozen=True, eq=False)
class ByQuery:
    """The closest adversarial of each sample after each number of queries, (samples, counts).

    Where `found` is False it is the worst case: there was no success yet.
    """

    counts: Sequence[int]
    closest: Column
    found: NDArray[np.bool_]

    def quartiles(self) -> list[tuple[float, float, float]]:
        """Return the quartiles over samples after each number of queries."""
        low, middle, high = np.quantile(self.closest, (0.25, 0.5, 0.75), axis=0)
        return list(zip(low.tolist(), middle.tolist(), high.tolist(), strict=True))

    def within(self, distance: float) -> list[int]:
        """Return the number of samples with a success within a distance, after each number of queries."""
        return [int(count) for count in (self.found & (self.closest <= distance)).sum(axis=0)]


def budgets(shape: ImageShape) -> tuple[float, ...]:
    """Return the distances of every curve of images of this shape, up to the largest possible worst case."""
    largest = GREY / 255 * math.sqrt(shape.size)
    power = math.floor(math.log10(largest)) + 1
    values = [float(f"{step}e{exponent}") for exponent in range(power - 5, power + 1) for step in _STEPS]
    end = next(index for index, value in enumerate(values) if value >= largest) + 1
    return tuple(values[end - _DISTANCES : end])


def exact_distances(found: Iterable[float], distances: Sequence[float]) -> tuple[float, ...]:
    """Return the distances at which a curve of successes at `found` changes, between the ends of `distances`.

    Only for samples that are not secret: each is the distance of a sample.
    """
    first, last = distances[0], distances[-1]
    return tuple(sorted({first, last, *(distance for distance in found if first < distance < last)}))


def query_counts(budget: int) -> tuple[int, ...]:
    """Return the numbers of queries of every curve with this query budget: 1, 2, 3, 5, 7, 10, ... to the budget."""
    values = {int(step * 10**exponent) for exponent in range(len(str(budget))) for step in _STEPS}
    return (*sorted(value for value in values if value < budget), budget)


def successes(outcomes: Sequence[str], distances: Sequence[float], budgets: Sequence[float]) -> tuple[int, ...]:
    """Return for each distance the number of samples with a success within it."""
    found = np.sort([success_distance(*row) for row in zip(outcomes, distances, strict=True)])
    return tuple(np.searchsorted(found, budgets, side="right").tolist())


def success_distance(outcome: str, distance: float) -> float:
    """Return the distance from which on a sample counts as a success: infinity where no adversarial was found."""
    if outcome == Outcome.CLEAN_WRONG:
        return 0.0
    return distance if outcome == Outcome.ADVERSARIAL else math.inf


def by_query(answered: Mapping[int, Answered], outcomes: Sequence[str], counts: Sequence[int]) -> ByQuery:
    """Return how the distances of samples fell with the queries; `outcomes` are those of the samples in their order.

    Before the first adversarial a distance is the worst case, and 0 where the clean image met the criterion already.
    """
    rows = np.zeros((len(answered), len(counts)))
    found = np.ones(rows.shape, np.bool_)
    for row, successful, sample, outcome in zip(rows, found, answered.values(), outcomes, strict=True):
        if outcome != Outcome.CLEAN_WRONG:
            best = np.minimum.accumulate(np.append(np.inf, sample.distance))
            after = np.searchsorted(sample.charged, counts, side="right")
            row[:] = np.minimum(best[after], sample.worst_case)
            successful[:] = np.isfinite(best[after])
    return ByQuery(counts, rows, found)


def closest(answered: Mapping[int, Answered], outcomes: Sequence[str], counts: Sequence[int]) -> Column:
    """Return the distances of `by_query`, (samples, counts)."""
    return by_query(answered, outcomes, counts).closest


def answered(
    trace: Trace, samples: Sequence[Sample], worst_cases: Mapping[int, float], *, targeted: bool
) -> dict[int, Answered]:
    """Split a trace by sample, for the samples of `worst_cases`; `samples` is the whole set by number."""
    wanted = np.array([-1 if sample.target is None else sample.target for sample in samples])
    true = np.array([sample.label for sample in samples])
    meets = trace.label == wanted[trace.sample] if targeted else trace.label != true[trace.sample]
    # no valid label meets every criterion, a withheld answer none
    adversarial = (meets | (trace.label == UNCLASSIFIED)) & (trace.label != EXHAUSTED)
    found = np.where(adversarial, trace.distance.astype(np.float64), np.inf)
    result = {}
    for number, worst in worst_cases.items():
        own = np.flatnonzero(trace.sample == number)
        # an image that another sample paid for counts with the queries that its own sample had paid by then
        paid = np.cumsum(trace.charged == number)[own]
        result[number] = Answered(np.maximum(paid, 1), found[own], worst)
    return result
