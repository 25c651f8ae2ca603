"""False claims on leaderboards of ten finalists: how often rank intervals claim more than is true.

    python -m bench.rank_claims [--boards 500] [--seed 7]

Each board has ten players of one track, five opponents and 200 samples, drawn in the worlds of `gauntlet simulate`; the
ten are the best of a hundred against these opponents on other samples. On boards of equals every separation is false.
On boards of close players the truth is measured on many fresh samples, and a separation is false where it reverses the
true order of a pair.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import permutations
from statistics import mean, stdev

import numpy as np
from numpy.typing import NDArray

from bench.report import table
from evaluation.domain.players import Side
from evaluation.formats.query.scoring.scores_v1 import interval, resampled_medians
from evaluation.formats.query.tournament.ordering import ranked
from evaluation.formats.query.tournament.schedule_output import OrderedBy
from evaluation.formats.query.tournament.simulated_players import EVERYBODY, REGIMES, Regime, World
from evaluation.scoring.rank_intervals import Ranks, rank_intervals

FINALISTS = 10
OPPONENTS = 5
SAMPLES = 200
TRUTH_SAMPLES = 20_000
_CHUNK = 5_000
_CHOOSING_SAMPLES = 400

WORLDS: Mapping[str, Mapping[Side, Regime]] = {
    "equal": {
        Side.MODEL: Regime(model=0, pair=0),
        Side.ATTACK: Regime(attack=0, pair=0, failure_spread=0),
    },
    "tight": dict.fromkeys(Side, REGIMES["tight"]),
}


_COLUMNS = (
    "boards of",
    "any false separation",
    "the same by overlap",
    "separated pairs",
    "the same by overlap",
    "all true ranks inside",
    "ranks in an interval",
)


@dataclass(frozen=True)
class Claims:
    """The claims of one board. Overlap is the older rule: a pair is separated where the score intervals are disjoint.

    `false` is 1 where a pair is separated that is equal or in the other order, `inside` is 1 where the rank intervals
    hold all true ranks; `apart` is the share of separated pairs; `width` the mean number of ranks in an interval.
    """

    false: float
    false_overlap: float
    apart: float
    apart_overlap: float
    inside: float
    width: float


def claims(world: str, side: Side, seed: int, number: int) -> Claims:
    """Return the claims of board `number`; equal arguments give equal claims."""
    key = (tuple(WORLDS).index(world), tuple(Side).index(side), number)
    hidden = World(np.random.SeedSequence(seed, spawn_key=key), WORLDS[world][side])
    models, attacks = _finalists(side, hidden)
    played = _rows(side, hidden.draw(models, attacks, SAMPLES))
    truth = [0.0] * FINALISTS
    if world != "equal":
        chunks = [_rows(side, hidden.draw(models, attacks, _CHUNK)) for _ in range(TRUTH_SAMPLES // _CHUNK)]
        truth = [float(np.median(np.concatenate(rows, axis=1))) for rows in zip(*chunks, strict=True)]
    return judge(side, played, truth)


def _finalists(side: Side, hidden: World) -> tuple[Sequence[int], Sequence[int]]:
    """Return the models and attacks of a board of `side`: its opponents are the five strongest."""
    if side is Side.MODEL:
        attacks = np.argsort(-hidden.attack)[:OPPONENTS].tolist()
        order = ranked(side, EVERYBODY, hidden.draw(EVERYBODY, attacks, _CHOOSING_SAMPLES), OrderedBy.MEDIAN)
        return order.players[:FINALISTS], attacks
    models = np.argsort(-hidden.model)[:OPPONENTS].tolist()
    before_models = hidden.draw(models, EVERYBODY, _CHOOSING_SAMPLES).transpose(1, 0, 2)
    return models, ranked(side, EVERYBODY, before_models, OrderedBy.MEDIAN).players[:FINALISTS]


def judge(side: Side, played: Sequence[NDArray[np.float64]], truth: Sequence[float]) -> Claims:
    """Judge players whose scores are the medians of `played` and whose true scores are `truth`."""
    names = [str(number) for number in range(len(played))]
    values = {name: float(np.median(rows)) for name, rows in zip(names, played, strict=True)}
    resampled = {name: resampled_medians(rows) for name, rows in zip(names, played, strict=True)}
    ranks = rank_intervals(values, resampled, side)
    scores = {name: interval(resampled[name]) for name in names}
    sign = -1 if side is Side.MODEL else 1
    true = {name: sign * value for name, value in zip(names, truth, strict=True)}
    pairs = list(permutations(names, 2))
    apart = {pair for pair in pairs if ranks.separated(*pair)}
    disjoint = {
        (better, worse)
        for better, worse in pairs
        if sign * values[better] < sign * values[worse]
        and (scores[better][1] < scores[worse][0] or scores[worse][1] < scores[better][0])
    }
    right = {(better, worse) for better, worse in pairs if true[better] < true[worse]}
    return Claims(
        false=float(not apart <= right),
        false_overlap=float(not disjoint <= right),
        apart=2 * len(apart) / len(pairs),
        apart_overlap=2 * len(disjoint) / len(pairs),
        inside=float(all(_holds(ranks, name, true) for name in names)),
        width=mean(one.high - one.low + 1 for one in ranks.intervals.values()),
    )


def _holds(ranks: Ranks, name: str, true: Mapping[str, float]) -> bool:
    """Return True if the interval holds the true rank, or all ranks that the player shares with its equals."""
    better = sum(value < true[name] for value in true.values())
    not_worse = sum(value <= true[name] for value in true.values())
    of_it = ranks.intervals[name]
    return of_it.low <= better + 1 and not_worse <= of_it.high


def _rows(side: Side, distances: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return for each player of `side` the values whose median is its score: (rows, samples)."""
    if side is Side.MODEL:
        return [of_model.min(axis=0, keepdims=True) for of_model in distances]
    return list(distances.transpose(1, 0, 2))


def report(boards: int, seed: int) -> list[str]:
    """Return the table, each number with its standard error over boards."""
    rows = []
    for world, sides in WORLDS.items():
        for side in sides:
            found = [claims(world, side, seed, number) for number in range(boards)]
            cells = [_with_error([getattr(one, column.name) for one in found]) for column in fields(Claims)]
            rows.append([f"{world} {side}s", *cells])
    return table(_COLUMNS, rows)


def _with_error(values: Sequence[float]) -> str:
    return f"{mean(values):.3f} ({stdev(values) / math.sqrt(len(values)):.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rank_claims", description="False claims of rank intervals.")
    parser.add_argument("--boards", type=int, default=500, metavar="N", help="boards of each kind, 2 or more")
    parser.add_argument("--seed", type=int, default=7, help="repeats the boards exactly")
    given = parser.parse_args()
    print("\n".join(report(given.boards, given.seed)))


if __name__ == "__main__":
    main()
