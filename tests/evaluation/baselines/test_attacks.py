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
from evaluation.formats.query.catalogue import TINY_IMAGENET, Baseline, baselines, find_baseline
from gauntlet import BudgetExhausted, ModelHandle
from gauntlet.foolbox_adapter import FoolboxModel
from gauntlet.handle import Clock

BUDGET = 500
BUDGET_OF_SEARCHES = 30
"""They use up any budget, and `test_label_attacks` has more of them."""

ATTACKS = [baseline for baseline in baselines() if baseline.track is not TrackName.MODEL]
PROGRAMS = [baseline for baseline in ATTACKS if baseline.data_set != TINY_IMAGENET]
"""Those for Tiny ImageNet are the same programs with slower networks."""

PLAYED = [*PROGRAMS, *(each for each in ATTACKS if each.data_set == TINY_IMAGENET and each.in_demo)]
PLAYED.append(find_baseline("compact-adaptive-ensemble"))
"""Those for Tiny ImageNet that a demo leaves out load the same networks by the same module."""

Images = NDArray[np.uint8]
Predict = Callable[[Images], NDArray[np.int64]]
LoadMain = Callable[[str], ModuleType]

every_program = pytest.mark.parametrize("baseline", PROGRAMS, ids=lambda each: each.name)


def stacked(images: list[bytes], shape: tuple[int, ...]) -> Images:
    """The images of a question as one array (n, height, width, channels)."""
    return np.frombuffer(b"".join(images), np.uint8).reshape(-1, *shape)


def attack_one(
    loaded_main: LoadMain,
    baseline: Baseline,
    predict: Predict,
    image: Images,
    *,
    budget: int,
    label: int = 0,
    target: int = 1,
    classes: int = 10,
) -> ModelHandle:
    """Run the attack on one sample, as the SDK does; gives the handle it held."""
    random.seed(0)
    np.random.seed(0)  # foolbox draws from it
    untargeted = baseline.track is TrackName.UNTARGETED
    left = budget

    def ask(images: list[bytes]) -> tuple[list[int], int]:
        nonlocal left
        left -= len(images)
        assert left >= 0
        return [int(found) for found in predict(stacked(images, image.shape))], left

    handle = ModelHandle(
        ask,
        image=image,
        label=label if untargeted else None,
        target=None if untargeted else target,
        classes=classes,
        budget=budget,
        clock=Clock(600.0),
    )
    answer = None
    try:
        answer = loaded_main(baseline.name).attack(
            handle, image.copy(), handle.label, target=handle.target, rng=np.random.default_rng(0)
        )
    except BudgetExhausted:
        assert left == 0
    assert answer is None
    return handle


def always(label: int) -> Predict:
    """A model with one label for every image."""
    return lambda images: np.full(len(images), label)


def clean_image(shape: tuple[int, int, int]) -> Images:
    """An image of middle levels."""
    return np.random.default_rng(1).integers(110, 146, shape, np.uint8)


def clean_image_for(baseline: Baseline) -> Images:
    """An image of the size of the start images, and a smaller one for the surrogates, which take any."""
    side = 32 if "network.py" in baseline.parts else 64
    return clean_image((side, side, 3))


@pytest.mark.parametrize("baseline", PLAYED, ids=lambda each: each.name)
def test_every_bundled_attack_finds_an_adversarial_image(loaded_main: LoadMain, baseline: Baseline) -> None:
    photographs = baseline.data_set == TINY_IMAGENET
    model, classes = ("compact-plain", 200) if photographs else ("numpy-classifier", 10)
    predict, image = loaded_main(model).predict, load_dataset("digits").samples("validation", 1)[0].image
    if photographs:
        image = image[::4, ::4]  # their networks take any size, and are slow
    label = int(predict(image[np.newaxis])[0])
    budget = BUDGET if baseline.in_demo else BUDGET_OF_SEARCHES
    handle = attack_one(
        loaded_main, baseline, predict, image, budget=budget, label=label, target=(label + 1) % 10, classes=classes
    )
    assert handle.best is not None
    assert 0 < handle.best_distance < 60


@every_program
def test_it_stays_within_a_small_budget(loaded_main: LoadMain, baseline: Baseline) -> None:
    for budget in (1, 10, 50):
        handle = attack_one(loaded_main, baseline, always(1), clean_image_for(baseline), budget=budget)
        assert handle.best is not None, budget


@every_program
def test_it_ends_where_nothing_is_adversarial(loaded_main: LoadMain, baseline: Baseline) -> None:
    handle = attack_one(loaded_main, baseline, always(0), clean_image_for(baseline), budget=100)
    assert handle.best is None


@every_program
@pytest.mark.parametrize("label", [1, -1])
def test_it_ends_near_a_clean_image_that_meets_the_criterion(
    loaded_main: LoadMain, baseline: Baseline, label: int
) -> None:
    """The target is the true label, or the model is wrong: the referee keeps such samples from attacks."""
    handle = attack_one(loaded_main, baseline, always(label), clean_image_for(baseline), budget=BUDGET)
    assert handle.best_distance < 1


@every_program
def test_it_ends_where_labels_are_random(loaded_main: LoadMain, baseline: Baseline) -> None:
    rng = np.random.default_rng(4)
    handle = attack_one(
        loaded_main, baseline, lambda images: rng.integers(2, size=len(images)), clean_image_for(baseline), budget=60
    )
    assert handle.best is not None


@pytest.mark.parametrize(
    ("baseline", "shape"),
    [
        *((each, shape) for each in PROGRAMS for shape in [(28, 28, 1), (20, 31, 3)]),
        # large images are slow: once for a program of both tracks
        *((each, (299, 299, 3)) for each in PROGRAMS if "main.py" not in each.parts),
    ],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_it_takes_images_of_any_shape(loaded_main: LoadMain, baseline: Baseline, shape: tuple[int, int, int]) -> None:
    clean = clean_image(shape)
    handle = attack_one(
        loaded_main,
        baseline,
        lambda images: (np.abs(images - 1.0 * clean).mean((1, 2, 3)) > 1).astype(int),
        clean,
        budget=30,
    )
    # the start images of the targeted attacks have another shape, and surrogates need none
    needs_start = baseline.track is TrackName.TARGETED and "network.py" not in baseline.parts
    assert (handle.best is None) == needs_start


@pytest.mark.parametrize("shape", [(20, 31, 3), (8, 8, 3)])
def test_blocks_cover_start_images_of_any_size(
    loaded_main: LoadMain, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int]
) -> None:
    """One corner alone makes the class: all other blocks are reset."""
    baseline, clean = find_baseline("targeted-pointwise"), clean_image(shape)
    monkeypatch.setitem(loaded_main(baseline.name).STARTS, "images", 255 - clean[np.newaxis])
    monkeypatch.setitem(loaded_main(baseline.name).STARTS, "labels", np.array([1]))
    clean[-1, -1] = 0

    def predict(images: Images) -> NDArray[np.int64]:
        return (images[:, -1, -1, 0] > 50).astype(np.int64)

    found = attack_one(loaded_main, baseline, predict, clean, budget=BUDGET).best
    assert found is not None
    assert found[-1, -1, 0] > 50
    assert np.array_equal(found[:-3, :-3], clean[:-3, :-3])


def test_gaussian_noise_is_foolboxs(loaded_main: LoadMain) -> None:
    """It asks the queries of foolbox's attack, to the last digit."""
    gaussian_noise = loaded_main("gaussian-noise")
    predict = loaded_main("numpy-classifier").predict
    image = load_dataset("digits").samples("validation", 1)[0].image
    label = int(predict(image[np.newaxis])[0])
    asked: list[Images] = []

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
