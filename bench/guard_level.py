"""Meaning of the 5 % of the ladder's guard among a hundred equal models: for one test, and for a cut.

    python -m bench.guard_level [--fields 200] [--seed 7]

For each stage of the ladder that cuts: how often an equal model loses the sign test to a given fifth, how often to the
fifth of the order, which is chosen on the same samples, and the place of the last model that does not lose.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from statistics import mean, stdev

import numpy as np

from bench.report import table
from evaluation.domain.players import Side
from evaluation.formats.query.tournament.ladder import Ladder, not_behind
from evaluation.formats.query.tournament.ordering import RankedSide, Seen, ranked
from evaluation.formats.query.tournament.schedule_input import TOP
from evaluation.formats.query.tournament.schedule_output import OrderedBy
from evaluation.formats.query.tournament.simulated_players import EVERYBODY, PLAYERS, Regime, World

EQUAL = Regime(model=0, pair=0)
SAMPLES = 200


@dataclass(frozen=True)
class Losses:
    """Results of one field: shares that lose to a given and to the chosen fifth, and the last place that does not."""

    to_a_given_fifth: float
    to_the_chosen_fifth: float
    last: float


def losses(samples: int, seed: int, number: int) -> Losses:
    """Return the losses of field `number`; equal arguments give equal losses."""
    world = World(np.random.SeedSequence(seed, spawn_key=(samples, number)), EQUAL)
    seen = world.draw(EVERYBODY, np.argsort(-world.attack)[:TOP].tolist(), samples)
    order = ranked(Side.MODEL, EVERYBODY, seen, OrderedBy.MEAN_RANK)
    stay = list(not_behind(order))
    return Losses(
        mean(_lose_in_any_order(np.roll(seen, shift, axis=0)) for shift in range(0, PLAYERS, 10)),
        1 - sum(row >= TOP for row in stay) / (PLAYERS - TOP),
        max(stay) + 1,
    )


def _lose_in_any_order(seen: Seen) -> float:
    """Return the share that loses to the fifth of an order that does not depend on the samples."""
    order = RankedSide(Side.MODEL, EVERYBODY, (0.0,) * PLAYERS, seen)
    return 1 - (len(list(not_behind(order))) - 1) / (PLAYERS - 1)


def report(fields: int, seed: int) -> list[str]:
    """Return the table, each number with its standard error over fields."""
    rows = []
    for samples in Ladder().samples_of_stages(SAMPLES)[:-1]:
        found = [astuple(losses(samples, seed, number)) for number in range(fields)]
        rows.append([str(samples), *map(_with_error, zip(*found, strict=True), (3, 3, 1))])
    return table(
        ["samples", "lose to a given fifth", "lose to the chosen fifth", "place of the last who does not"], rows
    )


def _with_error(values: Sequence[float], digits: int) -> str:
    return f"{mean(values):.{digits}f} ({stdev(values) / math.sqrt(len(values)):.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.guard_level", description="Meaning of the guard's 5 %.")
    parser.add_argument("--fields", type=int, default=200, metavar="N", help="fields of equal models, 2 or more")
    parser.add_argument("--seed", type=int, default=7, help="repeats the fields exactly")
    given = parser.parse_args()
    print("\n".join(report(given.fields, given.seed)))


if __name__ == "__main__":
    main()
