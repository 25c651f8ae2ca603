"""`python -m bench.attack_costs`: queries and processor seconds of each bundled attack of the query format on a sample.

Each attack runs in a process of its own, through the SDK, against a model whose time is not counted. The images are
validation digits in colour, which attacks treat like photographs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from types import ModuleType
from typing import Any

import numpy as np

from bench.interleaved import Spread, say
from bench.report import machine, table
from evaluation.datasets.load import load_dataset
from evaluation.domain.players import TrackName
from evaluation.formats.query.catalogue import TINY_IMAGENET, Baseline, baselines, find_baseline
from gauntlet import BudgetExhausted, ModelHandle
from gauntlet.handle import Clock

MODEL = "numpy-classifier"
COLOUR = (1.0, 0.8, 0.6)
MOST_SECONDS = 3600.0
"""The time of a sample, on the wall: the budget ends it, on a busy host, too."""


class Sample:
    """One sample of an attack: what the model is asked, and the processor time that it takes to answer."""

    def __init__(self, predict: Any, image: Any, classes: int, budget: int, *, targeted: bool) -> None:
        self._predict = predict
        self._left = budget
        self.model_seconds = 0.0
        label = int(predict(image[np.newaxis])[0])
        self.handle = ModelHandle(
            self._answer,
            image=image,
            label=None if targeted else label,
            target=(label + 1) % classes if targeted else None,
            classes=classes,
            budget=budget,
            clock=Clock(MOST_SECONDS),
        )

    def _answer(self, images: list[bytes]) -> tuple[list[int], int]:
        begun = time.process_time()
        asked = np.frombuffer(b"".join(images), np.uint8).reshape(-1, *self.handle.shape)
        self._left -= len(images)
        labels = self._predict(asked).tolist()
        self.model_seconds += time.process_time() - begun
        return labels, self._left


def program(name: str) -> ModuleType:
    """Import the program of a bundled submission with the modules beside it."""
    sys.path.insert(0, str(find_baseline(name).repository()))
    sys.modules.pop("main", None)
    return importlib.import_module("main")


def costs(name: str, images: int, budget: int, *, targeted: bool) -> list[tuple[int, float]]:
    """Return queries and processor seconds of each sample. Call it in a process that has loaded no other attack."""
    predict, attack = program(MODEL).predict, program(name).attack
    dataset, found = load_dataset("digits"), []
    for number, digit in enumerate(dataset.samples("validation", images)):
        image = np.rint(digit.image * COLOUR).astype(np.uint8)
        sample = Sample(predict, image, dataset.classes, budget, targeted=targeted)
        handle, rng = sample.handle, np.random.default_rng(number)
        np.random.seed(number)  # as the SDK does, for programs and libraries that draw from it
        begun = time.process_time()
        with suppress(BudgetExhausted):
            attack(handle, image.copy(), handle.label, target=handle.target, rng=rng)
        found.append((budget - handle.queries_left, time.process_time() - begun - sample.model_seconds))
    return found


def row_of(baseline: Baseline, images: int, budget: int) -> list[str]:
    """Measure an attack in a new process, and return its row."""
    say(baseline.name)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as own:
        targeted = baseline.track is TrackName.TARGETED
        found = own.submit(costs, baseline.name, images, budget, targeted=targeted).result()
    queries = Spread.of([asked for asked, _ in found])
    seconds = Spread.of([computed for _, computed in found])
    surrogates = sum(name.startswith("surrogate") and name.endswith(".safetensors") for name in baseline.parts)
    return [
        baseline.name,
        f"{surrogates or ''}",
        queries.text(0),
        seconds.text(),
        f"{1000 * seconds.median / queries.median:.1f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=10)
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--smallest", action="store_true", help="run all code at the smallest size; no figure is valid")
    given = parser.parse_args()
    attacks = [each for each in baselines() if each.track is not TrackName.MODEL and each.data_set != TINY_IMAGENET]
    images, budget = given.images, given.budget
    if given.smallest:
        attacks, images, budget = attacks[:1], 1, 10
    header = ["attack", "surrogates", "queries", "processor seconds of a sample", "milliseconds of a query"]
    rows = [row_of(each, images, budget) for each in attacks]
    print(f"{machine()}.\n\n" + "\n".join(table(header, rows)))


if __name__ == "__main__":
    main()
