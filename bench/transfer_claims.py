"""Coverage of score intervals of the transfer format, and the claims of its rank intervals, in simulated fields.

    python -m bench.transfer_claims

Defences have a strength each and images a difficulty that all of them share; an attack succeeds where a logistic of
both says so. The truth is the probability over all difficulties.
"""

from __future__ import annotations

import argparse
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evaluation.formats.transfer.rules import Opponents, TransferTrack
from evaluation.formats.transfer.scoring.score_intervals import ScoreInterval, pair_images, score_intervals, score_ranks
from evaluation.formats.transfer.scoring.scores import TransferStanding, standings

ATTACKS = 5
DIFFICULTIES = np.array([NormalDist().inv_cdf((place + 0.5) / 4000) for place in range(4000)])
"""Those of all images, behind the true scores."""


def main() -> None:
    """Print a line for each field and number of images."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--boards", type=int, default=200)
    given.add_argument("--defences", type=int, default=6)
    given.add_argument("--images", type=int, nargs="+", default=[16, 50, 100, 500])
    options = given.parse_args()
    print("field, images: coverage (se), boards with a false claim (se), pairs separated, half-width")
    for name, spread, level in (("equal", 0.0, 0.0), ("equal, 97 % right", 0.0, 5.0), ("spread", 0.6, 0.0)):
        for images in options.images:
            print(f"{name}, {images}: {_claims(options.boards, options.defences, images, spread, level)}", flush=True)


def _claims(boards: int, defences: int, images: int, spread: float, level: float) -> str:
    inside, false, separated, widths = [], [], [], []
    for board in range(boards):
        random = np.random.default_rng([board, images])
        strength = level + spread * random.standard_normal((1, defences, 1)) + np.zeros((ATTACKS, 1, 1))
        strength = strength - random.standard_normal((ATTACKS, 1, 1)) * 0.5
        truth = _right(strength, DIFFICULTIES).mean(axis=(0, 2))
        chance = _right(strength, random.standard_normal(images))
        right = random.random(chance.shape) < chance
        rows, intervals = _scored(right)
        ranks = score_ranks({row.name: row.score or 0.0 for row in rows}, intervals)
        for row in rows:
            found = intervals[row.name]
            inside.append(found.low <= truth[int(row.name)] <= found.high)
            widths.append((found.high - found.low) / 2)
        places = [1 + int((truth > value + 1e-12).sum()) for value in truth] if spread else None
        wide = [(ranks[str(one)].low, ranks[str(one)].high) for one in range(defences)]
        false.append(
            any(not low <= place <= high for place, (low, high) in zip(places, wide, strict=True))
            if places
            else any(bounds != (1, defences) for bounds in wide)
        )
        separated.append(sum(low - 1 for low, _ in wide) / (defences * (defences - 1) / 2))
    blamed = float(np.mean(false))
    covered = np.array(inside).reshape(boards, defences).mean(axis=1)
    return (
        f"{covered.mean():.3f} ({covered.std() / boards**0.5:.3f}), "
        f"{blamed:.3f} ({(blamed * (1 - blamed) / boards) ** 0.5:.3f}), {np.mean(separated):.2f}, {np.mean(widths):.3f}"
    )


def _right(strength: NDArray[np.float64], difficulty: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-(strength - 1.5 * difficulty)))


def _scored(right: NDArray[np.bool_]) -> tuple[list[TransferStanding], dict[str, ScoreInterval]]:
    images = right.shape[2]
    pairs = [
        pair_images(
            f"attack-{attack}",
            str(defence),
            targeted=False,
            made=[True] * images,
            labels=[0 if good else 1 for good in right[attack, defence]],
            truth=[0] * images,
            targets=[2] * images,
        )
        for attack in range(right.shape[0])
        for defence in range(right.shape[1])
    ]
    counts = [pair.counts for pair in pairs]
    rows = standings(counts, TransferTrack.DEFENCE, opponents=Opponents.COVERAGE, seconds={})
    epsilons = [8 if index < images // 2 else 16 for index in range(images)]
    return rows, score_intervals(pairs, rows, epsilons=epsilons, opponents=Opponents.COVERAGE)


if __name__ == "__main__":
    main()
