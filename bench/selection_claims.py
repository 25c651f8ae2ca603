"""False "better than" claims on leaderboards on which teams choose the best of their submissions.

    python -m bench.selection_claims [--boards 200] [--seed 7] [--side model]

Each board has ten teams, five opponents and 200 samples, and the deviations of `bench.luck`. A team shows the
submission with the best score of all that it tried. In *families* the submissions of a team share most of their errors
on the samples; where strengths are *different*, both teams and the submissions of a team differ. A claim is false where
the shown submission is not truly better. "Before" are the rank intervals without a correction, "after" those that allow
for the selection.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from bench.luck import ATTACK_SAMPLE, FAILURE, MODEL_SAMPLE, OPPONENTS, PAIR, SAMPLE
from bench.report import table
from evaluation.domain.players import Side
from evaluation.formats.query.scoring.scores_v1 import resampled_medians
from evaluation.formats.query.scoring.selection_effect import gain_by_luck
from evaluation.scoring.rank_intervals import rank_intervals

TEAMS = 10
SAMPLES = 200
REST = 0.35
"""Deviation of what each submission draws again for each opponent and sample, as in `bench.luck`."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Field:
    """Deviations of the true strength among and within teams, and the share of the variance of errors in common."""

    teams: float = 0.0
    submissions: float = 0.0
    shared: float = 0.0


FIELDS: Mapping[str, Field] = {
    "equal": Field(),
    "equal, families": Field(shared=0.7),
    "different": Field(teams=0.1, submissions=0.05),
    "different, families": Field(teams=0.1, submissions=0.05, shared=0.7),
}

TRIED: Mapping[str, Sequence[int]] = {
    "1": (1,) * TEAMS,
    "5": (5,) * TEAMS,
    "20": (20,) * TEAMS,
    "150": (150,) * TEAMS,
    "150 or 1": (150, 1) * (TEAMS // 2),
    "150 and 1, two teams": (150, 1),
}
"""Submissions tried by each team of a board, by name."""

_COLUMNS = (
    *("boards of", "tried", "boards with a false claim, before", "after", "false of all claims, before", "after"),
    *("pairs separated, before", "after", "pairs in the wrong order, by score", "by score less expected gain"),
)


@dataclass(frozen=True)
class Shown:
    """The submission that a team shows: the distances whose median is its score, and its true strength."""

    rows: Floats
    strength: float
    tried: int


@dataclass(frozen=True)
class Claims:
    """The pairs that a board separates, and those of them that are false."""

    separated: int
    false: int


@dataclass(frozen=True)
class Judged:
    """The claims of a board without and with the correction, and its pairs in the wrong order under two orders."""

    before: Claims
    after: Claims
    wrong_by_score: int
    wrong_by_corrected_score: int


def shown_on(field: Field, side: Side, tried: Sequence[int], seed: Sequence[int]) -> list[Shown]:
    """Return the best-scored submission of each team on one board; equal arguments give equal boards."""
    random = np.random.default_rng(seed)

    def normal(deviation: float, *shape: int) -> Floats:
        drawn: Floats = deviation * random.standard_normal(shape)
        return drawn

    own_deviation, other_deviation = MODEL_SAMPLE, ATTACK_SAMPLE
    if side is Side.ATTACK:
        own_deviation, other_deviation = other_deviation, own_deviation
    base = math.log(3) + normal(PAIR, OPPONENTS, 1) + normal(SAMPLE, SAMPLES)
    base = base + normal(other_deviation, OPPONENTS, SAMPLES)
    bound = math.log(18) + normal(0.25, SAMPLES)
    shared, alone = math.sqrt(field.shared), math.sqrt(1 - field.shared)
    sign = 1 if side is Side.MODEL else -1
    found = []
    for count in tried:
        strength = normal(field.teams) + normal(field.submissions, count)
        own = shared * normal(own_deviation, SAMPLES) + alone * normal(own_deviation, count, 1, SAMPLES)
        rest = shared * normal(REST, OPPONENTS, SAMPLES) + alone * normal(REST, count, OPPONENTS, SAMPLES)
        logs = np.minimum(base + own + rest + sign * strength[:, None, None], bound)
        logs = np.where(random.random(logs.shape) < FAILURE, bound, logs)
        if side is Side.MODEL:
            logs = logs.min(axis=1, keepdims=True)
        best = int(np.argmax(sign * np.median(logs, axis=(1, 2))))
        found.append(Shown(np.exp(logs[best]), float(strength[best]), count))
    return found


def judge(side: Side, shown: Sequence[Shown]) -> Judged:
    """Return what the board claims about each ordered pair, without and with the correction for selection."""
    names = [str(number) for number in range(len(shown))]
    by_name = dict(zip(names, shown, strict=True))
    values = {name: float(np.median(one.rows)) for name, one in by_name.items()}
    resampled = {name: resampled_medians(one.rows) for name, one in by_name.items()}
    tried = {name: one.tried for name, one in by_name.items()}
    pairs = list(permutations(names, 2))
    better = {(one, other) for one, other in pairs if by_name[one].strength > by_name[other].strength}
    claims = []
    for best_of in (None, tried):
        ranks = rank_intervals(values, resampled, side, best_of=best_of)
        claimed = {pair for pair in pairs if ranks.separated(*pair)}
        claims.append(Claims(len(claimed), len(claimed - better)))
    sign = 1 if side is Side.MODEL else -1
    corrected = {name: value / (1 + sign * gain_by_luck(side, tried[name], SAMPLES)) for name, value in values.items()}
    by_score, by_corrected = (
        sum(sign * of[one] < sign * of[other] for one, other in better) for of in (values, corrected)
    )
    return Judged(claims[0], claims[1], by_score, by_corrected)


def report(boards: int, seed: int, sides: Sequence[Side]) -> list[str]:
    """Return the table, with standard errors over boards of their shares."""
    rows = []
    for kind, field in FIELDS.items():
        for side in sides:
            for name, tried in TRIED.items():
                found = [judge(side, shown_on(field, side, tried, (seed, number))) for number in range(boards)]
                rows.append([f"{kind} {side}s", name, *_cells(found, math.comb(len(tried), 2), equal=not field.teams)])
    return table(_COLUMNS, rows)


def _cells(found: Sequence[Judged], pairs: int, *, equal: bool) -> list[str]:
    before, after = [one.before for one in found], [one.after for one in found]
    compared = len(found) * pairs
    wrong = [sum(one.wrong_by_score for one in found), sum(one.wrong_by_corrected_score for one in found)]
    return [
        *(_boards_with_false(claims) for claims in (before, after)),
        *(_false(claims) for claims in (before, after)),
        *(f"{sum(one.separated for one in claims) / compared:.3f}" for claims in (before, after)),
        *("" if equal else f"{count / compared:.3f}" for count in wrong),
    ]


def _boards_with_false(claims: Sequence[Claims]) -> str:
    share = sum(one.false > 0 for one in claims) / len(claims)
    return f"{share:.3f} ({math.sqrt(share * (1 - share) / len(claims)):.3f})"


def _false(claims: Sequence[Claims]) -> str:
    made = sum(one.separated for one in claims)
    return f"{sum(one.false for one in claims):,} of {made:,}" if made else "none"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.selection_claims", description="False claims by selection.")
    parser.add_argument("--boards", type=int, default=200, metavar="N", help="boards of each kind")
    parser.add_argument("--seed", type=int, default=7, help="repeats the boards exactly")
    parser.add_argument("--side", choices=tuple(Side), type=Side, help="models or attacks alone")
    given = parser.parse_args()
    print("\n".join(report(given.boards, given.seed, [given.side] if given.side else list(Side))))


if __name__ == "__main__":
    main()
