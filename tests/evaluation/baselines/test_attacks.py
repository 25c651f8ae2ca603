"""The bundled attacks against a bundled model, without a referee between them."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.baselines.catalogue import Baseline, baselines
from evaluation.datasets.load import load_dataset
from evaluation.domain.players import Track
from gauntlet import BudgetExhausted, ModelHandle
from gauntlet.handle import Clock

BUDGET = 1000

every_attack = pytest.mark.parametrize(
    "baseline", [baseline for baseline in baselines() if baseline.track is not Track.MODEL], ids=lambda b: b.name
)


def attack_one(
    load_main: Callable[[str], ModuleType],
    baseline: Baseline,
    predict: Callable[[NDArray[np.uint8]], NDArray[np.int64]],
) -> ModelHandle:
    """Run the attack on one sample; gives the handle it held."""
    random.seed(0)
    np.random.seed(0)  # foolbox draws from it
    sample = load_dataset("digits").samples("validation", 1)[0]
    label = sample.label if baseline.track is Track.UNTARGETED else None
    target = None if label is not None else (sample.label + 1) % 10
    left = BUDGET

    def ask(images: NDArray[np.uint8]) -> tuple[list[int], int]:
        nonlocal left
        left -= len(images)
        assert left >= 0
        return [int(found) for found in predict(images)], left

    handle = ModelHandle(
        ask, image=sample.image, label=label, target=target, classes=10, budget=BUDGET, clock=Clock(600.0)
    )
    answer = None
    try:
        answer = load_main(baseline.name).attack(
            handle, sample.image.copy(), label, target=target, rng=np.random.default_rng(0)
        )
    except BudgetExhausted:
        assert left == 0
    assert answer is None
    return handle


@every_attack
def test_it_works(load_main: Callable[[str], ModuleType], baseline: Baseline) -> None:
    handle = attack_one(load_main, baseline, load_main("numpy-classifier").predict)
    assert handle.best is not None
    assert 0 < handle.best_distance < 60


@every_attack
def test_it_ends_in_order_where_nothing_is_adversarial(
    load_main: Callable[[str], ModuleType], baseline: Baseline
) -> None:
    truth = load_dataset("digits").samples("validation", 1)[0].label
    handle = attack_one(load_main, baseline, lambda images: np.full(len(images), truth))
    assert handle.best is None
