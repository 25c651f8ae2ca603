"""Intervals of the scores of the transfer format, from one paired bootstrap over images.

A drawn image brings all its labels, of every attack and defence. So all players share the resamples, and their
differences can be resampled (`evaluation.scoring.rank_intervals`). The images of each epsilon are drawn among
themselves: a fresh sample set has as many of them. Opponents and their weights stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import fsum, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.formats.transfer.results import NO_LABEL, PairCounts
from evaluation.formats.transfer.rules import Opponents, TransferTrack
from evaluation.formats.transfer.scoring.scores import TransferStanding, opponent_weights
from evaluation.scoring.bootstrap_constants import RESAMPLES
from evaluation.scoring.distances import Distances
from evaluation.scoring.rank_intervals import RankInterval, rank_intervals, student

LEAST_IMAGES = 10
"""With fewer images there are no intervals."""

_LEAST_OF_EPSILON = 5
"""An epsilon with fewer images is drawn together with the next one."""

_NORMAL = 1.959963984540054
"""The 97.5th percentile of the standard normal distribution."""

_SEED = 0

Flags: TypeAlias = NDArray[np.bool_]
Drawn: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PairImages:
    """One attack against one defence, image by image: `made` by the attack, `labelled` by the defence, the `correct`
    labels, and the `hits` of the target class, all False unless the attack is targeted."""

    attack: str
    defence: str
    targeted: bool
    made: Flags
    labelled: Flags
    correct: Flags
    hits: Flags

    @property
    def counts(self) -> PairCounts:
        """The same as counts of images."""
        sums = (int(np.count_nonzero(each)) for each in (self.made, self.labelled, self.correct, self.hits))
        return PairCounts(self.attack, self.defence, self.targeted, len(self.made), *sums)

    def points(self, *, defending: bool) -> Flags:
        """Return the images that give the defence, or else the attack, a point."""
        if defending:
            return self.correct
        return self.hits if self.targeted else self.labelled & ~self.correct

    def possible(self, *, defending: bool) -> Flags:
        """Return the images that count for the defence, or else for the attack: not those that its opponent omitted."""
        return self.made if defending else self.labelled | ~self.made


@dataclass(frozen=True, eq=False)
class PairSums:
    """What the resamples draw of one attack against one defence: how many images that were `made`, `labelled`,
    `correct` and `hits`, (RESAMPLES,) each. Labelled images were made.

    They depend on no other pair, so that they need not be computed again when somebody else enters a leaderboard.
    """

    counts: PairCounts
    made: Drawn
    labelled: Drawn
    correct: Drawn
    hits: Drawn

    def points(self, *, defending: bool) -> Drawn:
        """Return how many images with a point for the defence, or else for the attack, each resample draws."""
        if defending:
            return self.correct
        return self.hits if self.counts.targeted else self.labelled - self.correct

    def possible(self, *, defending: bool) -> Drawn:
        """Return how many images that count for the defence, or else for the attack, each resample draws."""
        return self.made if defending else self.counts.images - self.made + self.labelled

    def images(self, *, defending: bool) -> int:
        """Return how many images count for the defence, or else for the attack."""
        counts = self.counts
        return counts.made if defending else counts.images - counts.made + counts.labelled


@dataclass(frozen=True)
class ScoreInterval:
    """The 95 % interval of a score over images, and the score in each resample, (RESAMPLES,).

    The resamples are spread so that their variance is unbiased. `freedom` are its degrees of freedom.
    """

    low: float
    high: float
    freedom: int
    resampled: Distances = field(compare=False, repr=False)


def pair_images(
    attack: str,
    defence: str,
    *,
    targeted: bool,
    made: Sequence[bool] | Flags,
    labels: Sequence[int],
    truth: Sequence[int] | NDArray[np.int64],
    targets: Sequence[int | None] | NDArray[np.int64],
) -> PairImages:
    """Return a pair from the labels that the defence gave, `NO_LABEL` where it gave none, and the `truth`.

    Raise `ValueError` if the lengths differ.
    """
    if not len(made) == len(labels) == len(truth) == len(targets):
        raise ValueError(f"{attack} against {defence}: {len(labels)} labels for {len(made)} of {len(truth)} images")
    given = np.asarray(labels)
    labelled = given != NO_LABEL
    wanted = (
        targets
        if isinstance(targets, np.ndarray)
        else np.array([NO_LABEL if target is None else target for target in targets])
    )
    hits = labelled & (given == wanted) if targeted else np.zeros(len(made), np.bool_)
    return PairImages(
        attack, defence, targeted, np.asarray(made, np.bool_), labelled, labelled & (given == np.asarray(truth)), hits
    )


def score_intervals(
    pairs: Sequence[PairImages], rows: Sequence[TransferStanding], *, epsilons: Sequence[int], opponents: Opponents
) -> dict[str, ScoreInterval]:
    """Return the interval of the score of each of `rows`, the standings of one track that follow from `pairs`.

    `epsilons` are those of the images. Without a score, or with fewer than ten images, there is none.
    """
    defending = bool(rows) and rows[0].track is TransferTrack.DEFENCE

    def met(name: str) -> list[PairImages]:
        return [pair for pair in pairs if name == (pair.defence if defending else pair.attack)]

    return intervals_of([pair.counts for pair in pairs], rows, met, epsilons=epsilons, opponents=opponents)


def intervals_of(
    counts: Sequence[PairCounts],
    rows: Sequence[TransferStanding],
    met: Callable[[str], Sequence[PairImages]],
    *,
    epsilons: Sequence[int],
    opponents: Opponents,
) -> dict[str, ScoreInterval]:
    """Return what `score_intervals` does, from the `counts` of all pairs and the function `met` from a player's name to
    its pairs: the images of all pairs of a large round exceed the memory."""
    if len(epsilons) < LEAST_IMAGES or not rows:
        return {}
    defending = rows[0].track is TransferTrack.DEFENCE
    weights = opponent_weights(counts, defending=defending, opponents=opponents)
    draw = _drawn(tuple(epsilons))
    return {
        row.name: _interval(row.score, met(row.name), weights, draw, defending=defending)
        for row in rows
        if row.score is not None
    }


def pair_sums(pairs: Sequence[PairImages], epsilons: Sequence[int]) -> list[PairSums]:
    """Return what the resamples draw of each pair; `epsilons` are those of the images.

    Raise `ValueError` where a defence labelled an image that was not made.
    """
    for pair in pairs:
        if (pair.labelled & ~pair.made).any():
            raise ValueError(f"{pair.defence} labelled images that {pair.attack} did not make")
    times = _drawn(tuple(epsilons)).times
    columns = [[pair.made, pair.labelled, pair.correct, pair.hits] for pair in pairs]
    flags = np.array(columns, np.float32).reshape(-1, len(epsilons))
    sums = (flags @ times.T).astype(np.int32).reshape(len(pairs), 4, RESAMPLES)  # whole numbers, exact in any order
    return [PairSums(pair.counts, *own) for pair, own in zip(pairs, sums, strict=True)]


def interval_from_sums(
    score: float,
    pairs: Sequence[PairSums],
    weights: Sequence[float],
    *,
    epsilons: Sequence[int],
    defending: bool,
    images: Callable[[], int],
) -> ScoreInterval:
    """Return the interval of a score as `score_intervals` does, from the sums of its pairs and their weights.

    `images` gives the number of images that count in at least one pair; it is asked only where the score is the same in
    all resamples.
    """
    drawn = [(pair.points(defending=defending), pair.possible(defending=defending)) for pair in pairs]
    points = np.array([got for got, _ in drawn], np.float64)
    possible = np.array([of for _, of in drawn], np.float64)
    count = sum(pair.images(defending=defending) for pair in pairs)
    return _spread(score, points, possible, weights, _drawn(tuple(epsilons)), images, count)


def score_ranks(scores: Mapping[str, float], intervals: Mapping[str, ScoreInterval]) -> Mapping[str, RankInterval]:
    """Return the simultaneous 95 % rank intervals of those who have an interval; the largest score is the best."""
    known = {name: score for name, score in scores.items() if name in intervals}
    freedom = min((intervals[name].freedom for name in known), default=None)
    resampled = {name: intervals[name].resampled for name in known}
    return rank_intervals(known, resampled, Side.MODEL, freedom=freedom).intervals


def with_intervals(
    rows: Sequence[TransferStanding], intervals: Mapping[str, ScoreInterval], ranks: Mapping[str, RankInterval]
) -> list[TransferStanding]:
    """Return standings with those intervals and rank intervals that are known, by name."""
    filled = []
    for row in rows:
        own, fits = intervals.get(row.name), ranks.get(row.name)
        filled.append(
            replace(
                row,
                low=own.low if own else None,
                high=own.high if own else None,
                rank_low=fits.low if fits else None,
                rank_high=fits.high if fits else None,
            )
        )
    return filled


def share_interval(share: float, images: float) -> tuple[float, float]:
    """Return the 95 % interval of a share of so many images (Wilson 1927)."""
    square = _NORMAL * _NORMAL
    middle = (share + square / (2 * images)) / (1 + square / images)
    half = _NORMAL * sqrt(share * (1 - share) / images + square / (4 * images * images)) / (1 + square / images)
    # rounding must not move a bound past the share
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def _interval(
    score: float, pairs: Sequence[PairImages], weights: Mapping[str, float], draw: _Draw, *, defending: bool
) -> ScoreInterval:
    met = [(pair, weights[pair.attack if defending else pair.defence]) for pair in pairs]
    points = np.array([pair.points(defending=defending) for pair, _ in met], np.float32)
    possible = np.array([pair.possible(defending=defending) for pair, _ in met], np.float32)
    # sums of whole numbers are exact in any order
    got, of = ((draw.times @ each.T).T.astype(np.float64) for each in (points, possible))
    return _spread(
        score,
        got,
        of,
        [weight for _, weight in met],
        draw,
        lambda: int(np.count_nonzero(possible.any(axis=0))),
        int(np.count_nonzero(possible)),
    )


def _spread(
    score: float,
    points: NDArray[np.float64],
    possible: NDArray[np.float64],
    weights: Sequence[float],
    draw: _Draw,
    images: Callable[[], int],
    labels: int,
) -> ScoreInterval:
    """Return Wilson's interval for the number of images that would give a single share the variance of the resamples.

    A percentile interval has no width where all points are equal, and too little near 0 and 1. `points` and `possible`
    are the points and the images that count of each pair in each resample, (pairs, RESAMPLES).

    `images` gives the number of images, `labels` is that of the images of all pairs.
    """
    total, weighed = np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    # opponents are added one by one: equal to the last bit anywhere
    for got, of, weight in zip(points, possible, weights, strict=True):
        there = of > 0
        total += np.where(there, weight * got / np.maximum(of, 1), 0.0)
        weighed += np.where(there, weight, 0.0)
    drawn = np.where(weighed > 0, total / np.where(weighed > 0, weighed, 1.0), score)
    if score in (0.0, 1.0):  # no draw changes it, but sums of weights that are no whole numbers are rounded
        drawn = np.full(RESAMPLES, score)
    resampled = score + (drawn - score) * sqrt(1 + draw.strata / draw.freedom)
    variance = _variance(resampled.tolist())
    if variance > 0:
        # labels carry no more than as many independent images
        few = (_NORMAL / student(_NORMAL, draw.freedom)) ** 2
        independent = min(few * score * (1 - score) / variance, float(labels))
    else:
        independent = float(images())
    return ScoreInterval(*share_interval(score, independent), draw.freedom, resampled)


def _variance(values: Sequence[float]) -> float:
    """Return the variance, rounded once: NumPy's own depends on its version in the last bits."""
    if min(values) == max(values):
        return 0.0
    mean = fsum(values) / len(values)
    return fsum((value - mean) ** 2 for value in values) / len(values)


@dataclass(frozen=True, eq=False)
class _Draw:
    """How often each resample draws each image, (RESAMPLES, images), and the number of strata of the images."""

    times: NDArray[np.float32]
    strata: int

    @property
    def freedom(self) -> int:
        """The degrees of freedom of a variance."""
        return int(self.times.shape[1]) - self.strata


@lru_cache(maxsize=2)
def _drawn(epsilons: tuple[int, ...]) -> _Draw:
    """Return the resamples. The stream of `RandomState` is frozen."""
    random = np.random.RandomState(_SEED)
    times = np.zeros((RESAMPLES, len(epsilons)), np.float32)  # whole numbers, exact below 2 ** 24
    strata = _strata(np.asarray(epsilons))
    for own in strata:
        drawn = random.randint(0, len(own), size=(RESAMPLES, len(own)))
        drawn += len(own) * np.arange(RESAMPLES)[:, np.newaxis]
        times[:, own] = np.bincount(drawn.ravel(), minlength=RESAMPLES * len(own)).reshape(RESAMPLES, len(own))
    return _Draw(times, len(strata))


def _strata(epsilons: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the indices of the images that are drawn among themselves: those of each epsilon, small ones joined."""
    found: list[NDArray[np.int64]] = []
    for epsilon in np.unique(epsilons):
        own = np.flatnonzero(epsilons == epsilon)
        if found and min(len(found[-1]), len(own)) < _LEAST_OF_EPSILON:
            found[-1] = np.sort(np.concatenate([found[-1], own]))
        else:
            found.append(own)
    return found
