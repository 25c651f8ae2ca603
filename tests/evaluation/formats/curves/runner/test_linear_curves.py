"""Curves of whole runs on linear models, against the exact distances and against attacks at each budget."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from torch import Tensor

from evaluation.domain.samples import Sample
from evaluation.formats.curves.attacks.base import Attack
from evaluation.formats.curves.attacks.boundary import Boundary
from evaluation.formats.curves.attacks.deepfool import DeepFool
from evaluation.formats.curves.attacks.evolutionary import Evolutionary
from evaluation.formats.curves.attacks.fgsm import Fgsm
from evaluation.formats.curves.attacks.hop_skip_jump import HopSkipJump
from evaluation.formats.curves.attacks.iterative import Bim
from evaluation.formats.curves.attacks.smallest_budget import BISECTIONS
from evaluation.formats.curves.results import Floats, Results
from evaluation.formats.curves.runner.benchmark_run import BenchmarkRun, Subject, as_tensor, play_batch, start_images
from evaluation.formats.curves.runner.benchmark_settings import SMALL_IMAGES, BenchmarkSettings
from evaluation.formats.curves.scoring.curves import accuracy_by_budget, accuracy_by_strength
from evaluation.formats.curves.threat_models import Goal, Norm
from tests.evaluation.formats.curves.linear_models import CountingClassifier, LinearModel

COUNT, WRONG = 40, 4
"""Images, and how many of them have another label than the model gives."""
BUDGETS = np.linspace(0.0, 2.0, 21)
"""Times the median of the exact distances."""


def named(value: object) -> str:
    return value.name if isinstance(value, Attack) else str(value)


def played(
    attack: Attack,
    norm: Norm,
    seed: int,
    side: int,
    fixed: Mapping[Norm, float] = SMALL_IMAGES,
    *,
    rounds: bool = False,
) -> tuple[LinearModel, Results]:
    """Return a linear model of images of 8 bits, some of which it gets wrong, and the results of a run."""
    model = LinearModel(seed, side=side, count=COUNT, spread=0.1)
    model.classifier.rounds = rounds
    pixels = (model.images * 255).round().byte().permute(0, 2, 3, 1).numpy()
    model.images = as_tensor([Sample(0, each, 0) for each in pixels])
    model.labels = model.classifier.labels(model.images)
    labels = model.labels.clone()
    labels[:WRONG] = (labels[:WRONG] + 1) % model.classes
    samples = [Sample(number, *each) for number, each in enumerate(zip(pixels, labels.tolist(), strict=True))]
    first = {norm: float(model.smallest(norm).median())}  # the search is precise to a thousandth of it
    run, subject = BenchmarkRun(attack, None, Goal.UNTARGETED, norm), Subject(model.classifier, samples, "linear")
    return model, play_batch(run, subject, samples, BenchmarkSettings(first_budgets=first, fixed_budgets=fixed))


@pytest.mark.parametrize(("seed", "side"), [(1, 8), (2, 4), (3, 16)])
@pytest.mark.parametrize("norm", [Norm.LINF, Norm.L2], ids=named)
@pytest.mark.parametrize("attack", [Fgsm(), Bim(), DeepFool()], ids=named)
def test_a_curve_falls_from_the_clean_accuracy_and_is_what_counting_at_each_budget_gives(
    attack: Attack, norm: Norm, seed: int, side: int
) -> None:
    model, results = played(attack, norm, seed, side)
    exact = np.concatenate([np.zeros(WRONG), model.smallest(norm)[WRONG:].numpy()])
    budgets = BUDGETS * np.median(exact)
    curve = accuracy_by_budget(results, budgets)
    assert curve[0] == results.right.mean() == 1 - WRONG / COUNT
    assert (np.diff(curve) <= 0).all()
    assert (np.diff(accuracy_by_strength(results)) <= 0).all()
    assert (curve >= (exact > 1.0001 * budgets[:, None]).mean(axis=1)).all()
    if isinstance(attack, DeepFool):
        assert (curve <= (1.05 * exact > budgets[:, None]).mean(axis=1)).all()
    else:
        # an image may fall or not at a budget that is within the precision of the search
        near = (np.abs(results.distances - budgets[:, None]) < np.median(exact) / 2**BISECTIONS)[:, WRONG:].sum(axis=1)
        assert near.sum() < COUNT
        assert (np.abs((COUNT * curve).round() - left(attack, norm, model, budgets)) <= near).all()


def left(attack: Attack, norm: Norm, model: LinearModel, budgets: Floats) -> list[int]:
    """Return how many images the attack leaves at each budget."""
    rows, counts = slice(WRONG, None), []
    for budget in budgets:
        batch = model.batch(attack, norm, rows=rows, budgets=torch.full((COUNT - WRONG,), float(budget)))
        attack.run(batch)
        counts.append(int((~batch.findings.found).sum()))
    return counts


@pytest.mark.parametrize("attack", [Boundary(), Bim()], ids=named)
def test_a_batch_in_which_the_model_gives_every_image_its_target_has_distances_of_0(attack: Attack) -> None:
    model = LinearModel(seed=1, count=2)
    pixels = (model.images * 255).round().byte().permute(0, 2, 3, 1).numpy()
    given = model.classifier.labels(as_tensor([Sample(0, each, 0) for each in pixels])).tolist()
    right = Sample(0, pixels[0], given[0], target=(given[0] + 1) % 10)
    wrong = Sample(1, pixels[1], (given[1] + 1) % 10, target=given[1])
    subject = Subject(model.classifier, [right, wrong], "linear", starts=start_images(model.classifier, [right, wrong]))

    results = play_batch(BenchmarkRun(attack, None, Goal.TARGETED, Norm.L2), subject, [wrong], BenchmarkSettings())

    assert results.distances.tolist() == [0.0]
    assert results.nearest.tolist() == [0.0]


class OneClassForNoise(CountingClassifier):
    """A model that gives the class 0 to all that is far from grey, as noise of pixels is, and blocks of any size."""

    def labels(self, images: Tensor) -> Tensor:
        values = images.flatten(2)
        is_noise = (values - 0.5).abs().amax(dim=(1, 2)) > 0.15
        is_flat = (values.amax(dim=2) == values.amin(dim=2)).all(dim=1)
        return torch.where(is_noise | is_flat, 0, super().labels(images))


@pytest.mark.parametrize(
    ("attack", "norm"), [(Boundary(), Norm.L2), (Evolutionary(), Norm.L2), (HopSkipJump(), Norm.LINF)], ids=named
)
def test_no_class_withstands_attacks_because_the_model_gives_it_to_all_noise(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=1, side=4, count=COUNT, spread=0.03)
    pixels = (model.images * 255).round().byte().permute(0, 2, 3, 1).numpy()
    given = model.classifier.labels(as_tensor([Sample(0, each, 0) for each in pixels])).tolist()
    samples = [Sample(number, *each) for number, each in enumerate(zip(pixels, given, strict=True))]
    classifier = OneClassForNoise(model.classifier)
    subject = Subject(classifier, samples, "linear", starts=start_images(classifier, samples))

    results = play_batch(
        BenchmarkRun(attack, None, Goal.UNTARGETED, norm), subject, samples, BenchmarkSettings(query_limit=200)
    )

    assert given.count(0) > 1
    assert np.isfinite(results.distances).all()


def test_a_normalised_distance_is_that_in_l2_over_the_root_of_the_number_of_values() -> None:
    _, plain = played(DeepFool(), Norm.L2, 1, 8)
    _, normalised = played(DeepFool(), Norm.NORMALISED_L2, 1, 8)
    np.testing.assert_allclose(normalised.distances * np.sqrt(3 * 8 * 8), plain.distances, rtol=1e-6)
    assert normalised.fixed_budget == pytest.approx(np.sqrt(0.001))


@pytest.mark.parametrize("budget", [2 / 255, 0.00784313725, 0.0079], ids=["exact", "cut off", "rounded up"])
def test_what_an_attack_finds_with_a_budget_of_whole_steps_is_within_it(budget: float) -> None:
    _, results = played(Bim(), Norm.LINF, 1, 16, {Norm.LINF: budget}, rounds=True)
    found = results.traces[(results.traces > 0) & np.isfinite(results.traces)]
    assert len(found)
    assert (found <= budget).all()
