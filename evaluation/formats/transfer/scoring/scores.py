"""Scores of the transfer format, version 1 (Kurakin et al. 2018, equations 6 to 10).

With `Opponents.COMPLETE` they are those of 2017: only opponents that processed every image count, so that nobody
is rewarded or penalised for an opponent's crash. With `Opponents.COVERAGE` every opponent counts, weighted by the
share of the images that it processed, and in a pair only the images that the opponent processed. If all opponents are
complete, both rules give the same scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median

from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.rules import Opponents, TransferTrack


@dataclass(frozen=True)
class TransferStanding:
    """One row of a table like 1 to 3 of the paper.

    `raw` counts points over the opponents that count, `score` is normalised to 0..1, `worst` is the score against the
    opponent that is worst for it. Both are None if no opponent counts. `coverage` is the share of the images that it
    processed itself, and `median_seconds` that of its batches. `low` and `high` bound the 95 % interval of the score
    over images, `rank_low` and `rank_high` the 95 % rank interval (see `score_intervals`); None where they are
    not computed.
    """

    rank: int
    name: str
    track: TransferTrack
    score: float | None
    raw: int
    worst: float | None
    coverage: float
    opponents: int
    median_seconds: float | None
    low: float | None = None
    high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None


def attack_coverages(pairs: Sequence[PairCounts]) -> dict[str, Fraction]:
    """Return the share of the images that each attack made."""
    return {pair.attack: Fraction(pair.made, pair.images) for pair in pairs}


def defence_coverages(pairs: Sequence[PairCounts]) -> dict[str, Fraction]:
    """Return the share of all made images that each defence labelled; 1 if there was nothing to label."""
    made: dict[str, int] = {}
    labelled: dict[str, int] = {}
    for pair in pairs:
        made[pair.defence] = made.get(pair.defence, 0) + pair.made
        labelled[pair.defence] = labelled.get(pair.defence, 0) + pair.labelled
    return {name: Fraction(labelled[name], made[name]) if made[name] else Fraction(1) for name in made}


def standings(
    pairs: Sequence[PairCounts],
    track: TransferTrack,
    *,
    opponents: Opponents,
    seconds: Mapping[str, Sequence[float]],
) -> list[TransferStanding]:
    """Return the ranked standings of one track; equal scores share a rank. `seconds` are those of each one's batches.

    A defence meets both kinds of attacks (equation 8), an attack meets all defences (equations 6 and 7).
    """
    defending = track is TransferTrack.DEFENCE
    mine: dict[str, list[PairCounts]] = {}
    for pair in pairs:
        if defending or pair.targeted == (track is TransferTrack.TARGETED_ATTACK):
            mine.setdefault(pair.defence if defending else pair.attack, []).append(pair)
    theirs = _weights(pairs, defending=defending, opponents=opponents)
    own = defence_coverages(pairs) if defending else attack_coverages(pairs)
    rows = []
    for name, met in mine.items():
        weights = [theirs[pair.attack if defending else pair.defence] for pair in met]
        rows.append(_standing(name, track, met, weights, float(own[name]), seconds.get(name, ())))
    return _ranked(rows)


def opponent_weights(pairs: Sequence[PairCounts], *, defending: bool, opponents: Opponents) -> dict[str, float]:
    """Return the weight of each opponent of defences, or else of attacks; 0 if it does not count."""
    return {name: float(weight) for name, weight in _weights(pairs, defending=defending, opponents=opponents).items()}


def _weights(pairs: Sequence[PairCounts], *, defending: bool, opponents: Opponents) -> dict[str, Fraction]:
    coverages = attack_coverages(pairs) if defending else defence_coverages(pairs)
    if opponents is Opponents.COVERAGE:
        return coverages
    return {name: Fraction(coverage == 1) for name, coverage in coverages.items()}


def share_of_points(pair: PairCounts, *, defending: bool) -> Fraction | None:
    """Return the share of the images of a pair with a point for one side, of which a score is the weighted mean.

    Images that the opponent did not process are not counted; own omissions are, without a point. None if none is left.
    """
    points = pair.correct if defending else pair.fooled
    possible = pair.made if defending else pair.images - (pair.made - pair.labelled)
    return Fraction(points, possible) if possible else None


def _standing(
    name: str,
    track: TransferTrack,
    met: Sequence[PairCounts],
    weights: Sequence[Fraction],
    coverage: float,
    seconds: Sequence[float],
) -> TransferStanding:
    defending = track is TransferTrack.DEFENCE
    raw, total, weighed = 0, Fraction(0), Fraction(0)
    worst: list[float] = []
    for pair, weight in zip(met, weights, strict=True):
        share = share_of_points(pair, defending=defending)
        if not weight or share is None:
            continue
        raw += pair.correct if defending else pair.fooled
        worst.append(_worst_of_defence(pair) if defending else _worst_of_attack(pair))
        total, weighed = total + weight * share, weighed + weight
    return TransferStanding(
        rank=0,
        name=name,
        track=track,
        score=float(total / weighed) if weighed else None,
        raw=raw,
        worst=min(worst, default=None),
        coverage=coverage,
        opponents=len(worst),
        median_seconds=median(seconds) if seconds else None,
    )


def _worst_of_defence(pair: PairCounts) -> float:
    """Return the term of equation 9; an image that the attack did not make counts as the true label (section 3.3)."""
    return (pair.correct + pair.images - pair.made) / pair.images


def _worst_of_attack(pair: PairCounts) -> float:
    """Return the term of equation 10; an image that the defence did not label counts as fooled."""
    return (pair.fooled + pair.made - pair.labelled) / pair.images


def _ranked(rows: Sequence[TransferStanding]) -> list[TransferStanding]:
    ordered = sorted(rows, key=lambda row: (row.score is None, -(row.score or 0.0), row.name))
    ranked: list[TransferStanding] = []
    for place, row in enumerate(ordered, 1):
        tied = bool(ranked) and ranked[-1].score == row.score
        ranked.append(replace(row, rank=ranked[-1].rank if tied else place))
    return ranked
