"""The bundled attacks against a bundled model, without a referee between them."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from foolbox.attacks.additive_noise import L2RepeatedAdditiveGaussianNoiseAttack
from foolbox.criteria import Misclassification
from numpy.typing import NDArray

from evaluation.datasets.load import load_dataset
from evaluation.domain.players import TrackName
from evaluation.formats.query.catalogue import TINY_IMAGENET, Baseline, baselines
from gauntlet import BudgetExhausted, ModelHandle
from gauntlet.foolbox_adapter import FoolboxModel
from gauntlet.handle import Clock

BUDGET = 1000
BUDGET_OF_LABEL_ATTACKS = 200
"""They use up any budget, and `test_label_attacks` has more of them."""

every_attack = pytest.mark.parametrize(
    "baseline", [baseline for baseline in baselines() if baseline.track is not TrackName.MODEL], ids=lambda b: b.name
)


def stacked(images: list[bytes], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """The images of a question as one array (n, height, width, channels)."""
    return np.frombuffer(b"".join(images), np.uint8).reshape(-1, *shape)


def attack_one(
    load_main: Callable[[str], ModuleType],
    baseline: Baseline,
    predict: Callable[[NDArray[np.uint8]], NDArray[np.int64]],
    classes: int = 10,
    *,
    is_met: bool = False,
) -> ModelHandle:
    """Run the attack on one sample; gives the handle it held. `is_met`: the clean image meets the criterion already."""
    random.seed(0)
    np.random.seed(0)  # foolbox draws from it
    image = load_dataset("digits").samples("validation", 1)[0].image
    truth = int(predict(image[np.newaxis])[0])
    other = (truth + 1) % 10
    untargeted = baseline.track is TrackName.UNTARGETED
    label = (other if is_met else truth) if untargeted else None
    target = None if untargeted else truth if is_met else other
    budget = BUDGET if baseline.in_demo else BUDGET_OF_LABEL_ATTACKS
    left = budget

    def ask(images: list[bytes]) -> tuple[list[int], int]:
        nonlocal left
        left -= len(images)
        assert left >= 0
        return [int(found) for found in predict(stacked(images, image.shape))], left

    handle = ModelHandle(
        ask, image=image, label=label, target=target, classes=classes, budget=budget, clock=Clock(600.0)
    )
    answer = None
    try:
        answer = load_main(baseline.name).attack(
            handle, image.copy(), label, target=target, rng=np.random.default_rng(0)
        )
    except BudgetExhausted:
        assert left == 0
    assert answer is None
    return handle


@every_attack
def test_every_bundled_attack_finds_an_adversarial_image(
    load_main: Callable[[str], ModuleType], baseline: Baseline
) -> None:
    photographs = baseline.data_set == TINY_IMAGENET
    model, classes = ("compact-plain", 200) if photographs else ("numpy-classifier", 10)
    handle = attack_one(load_main, baseline, load_main(model).predict, classes)
    assert handle.best is not None
    assert 0 < handle.best_distance < 60


@every_attack
def test_it_ends_in_order_where_nothing_is_adversarial(
    load_main: Callable[[str], ModuleType], baseline: Baseline
) -> None:
    handle = attack_one(load_main, baseline, lambda images: np.full(len(images), 3))
    assert handle.best is None


@pytest.mark.parametrize(
    "baseline",  # those for Tiny ImageNet are the same programs with slower networks
    [each for each in baselines() if each.track is not TrackName.MODEL and each.data_set != TINY_IMAGENET],
    ids=lambda each: each.name,
)
def test_it_ends_near_a_clean_image_that_meets_the_criterion(
    load_main: Callable[[str], ModuleType], baseline: Baseline
) -> None:
    """The target is the true label, or the model is wrong: the referee keeps such samples from attacks."""
    handle = attack_one(load_main, baseline, load_main("numpy-classifier").predict, is_met=True)
    assert handle.best is not None
    assert handle.best_distance < 1


def test_gaussian_noise_is_foolboxs(load_main: Callable[[str], ModuleType]) -> None:
    """It asks the queries of foolbox's attack, to the last digit."""
    gaussian_noise = load_main("gaussian-noise")
    predict = load_main("numpy-classifier").predict
    image = load_dataset("digits").samples("validation", 1)[0].image
    label = int(predict(image[np.newaxis])[0])
    asked: list[NDArray[np.uint8]] = []

    def ask(images: list[bytes]) -> tuple[list[int], int]:
        decoded = stacked(images, image.shape)
        asked.extend(decoded)
        return [int(found) for found in predict(decoded)], BUDGET - len(asked)

    def handle() -> ModelHandle:
        np.random.seed(0)
        asked.clear()
        return ModelHandle(ask, image=image, label=label, target=None, classes=10, budget=BUDGET, clock=Clock(600.0))

    gaussian_noise.attack(handle(), image, label, target=None, rng=np.random.default_rng(0))
    own = np.stack(asked)

    foolbox_model, clean = FoolboxModel(handle()), image[np.newaxis].astype(np.float32) / 255
    noise = L2RepeatedAdditiveGaussianNoiseAttack(repeats=gaussian_noise.DRAWS, check_trivial=False)
    low, high = 0.0, gaussian_noise.LARGEST
    size = high
    for _ in range(gaussian_noise.ROUNDS):
        found = noise.run(foolbox_model, clean, Misclassification(np.array([label])), epsilon=size)
        low, high = (low, size) if (found != clean).any() else (size, high)
        size = (low + high) / 2
    assert len(own) > gaussian_noise.DRAWS
    np.testing.assert_array_equal(own, np.stack(asked))
