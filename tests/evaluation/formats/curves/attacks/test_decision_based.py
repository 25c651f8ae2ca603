from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, Findings, distance
from evaluation.formats.curves.attacks.boundary import Boundary
from evaluation.formats.curves.attacks.evolutionary import Evolutionary
from evaluation.formats.curves.attacks.hop_skip_jump import HopSkipJump
from evaluation.formats.curves.models.classifier import Classifier, NetworkClassifier
from evaluation.formats.curves.models.sandboxed_classifier import as_images, as_pixels
from evaluation.formats.curves.threat_models import Goal, Norm
from gauntlet import frames
from tests.evaluation.formats.curves.linear_models import CountingClassifier, LinearModel

ATTACKS: list[tuple[Attack, Norm]] = [
    (Boundary(), Norm.L2),
    (Evolutionary(), Norm.L2),
    (HopSkipJump(), Norm.L2),
    (HopSkipJump(), Norm.LINF),
]
GOALS = [Goal.UNTARGETED, Goal.TARGETED]
SINGLE = 1e-4
"""What single precision may change of a distance, of itself."""
STRENGTHS = (1, 2, 5, 20, 100, 500, 1000, 2000)


def named(value: object) -> str:
    return value.name if isinstance(value, Attack) else str(value)


def starts(model: LinearModel) -> Tensor:
    """Return an image of each target class: noise, moved along the weights of the class."""
    weight = model.weight.float()[model.targets].view(model.images.shape)
    noise = torch.randn(weight.shape, generator=torch.Generator().manual_seed(0))
    return (0.5 + 0.2 * weight + 0.2 * noise).clamp(0.0, 1.0)


class InDouble(nn.Module):
    """The linear model in double precision: how it rounds depends too little on the batch to change a decision."""

    def __init__(self, model: LinearModel) -> None:
        super().__init__()
        self.weight = model.weight

    def forward(self, images: Tensor) -> Tensor:
        return images.double().flatten(1) @ self.weight.T - 0.5 * self.weight.sum(dim=1)


def attacked(
    model: LinearModel,
    attack: Attack,
    norm: Norm,
    goal: Goal = Goal.UNTARGETED,
    *,
    limit: int,
    rows: slice = slice(None),
    seed: int = 0,
) -> AttackedBatch:
    batch = model.batch(attack, norm, goal, limit=limit, rows=rows, strengths=STRENGTHS, seed=seed)
    if goal is Goal.TARGETED:
        batch.starts = starts(model)[rows]
    attack.run(batch)
    return batch


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize(("attack", "norm"), ATTACKS, ids=named)
def test_what_is_found_is_adversarial_and_nearer_the_more_is_asked_but_not_below_the_optimum(
    attack: Attack, norm: Norm, goal: Goal
) -> None:
    model = LinearModel(seed=1, side=4, spread=0.1, count=6)
    batch = attacked(model, attack, norm, goal, limit=1000)
    images, distances, traces = batch.findings.images, batch.findings.distances, batch.findings.traces
    labels = model.classifier.labels(images)
    assert (labels == model.targets if goal is Goal.TARGETED else labels != model.labels).all()
    assert torch.equal(distance(images, model.images, norm), distances)
    assert images.min() >= 0
    assert images.max() <= 1
    assert (distances >= model.smallest(norm, goal) * (1 - SINGLE)).all()
    assert (traces[:, 1:] <= traces[:, :-1]).all()
    assert torch.equal(traces[:, -1], distances)
    assert (traces[:, -1] < traces[:, 3]).float().mean() > 0.6


class Abstaining(CountingClassifier):
    """A model that gives no valid label to images that it does not know."""

    def __init__(self, model: Classifier, known: Tensor) -> None:
        super().__init__(model)
        self._known = known.flatten(1)

    def labels(self, images: Tensor) -> Tensor:
        is_known = (images.flatten(1)[:, None] == self._known).all(dim=2).any(dim=1)
        return torch.where(is_known, super().labels(images), frames.UNCLASSIFIED)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize(("attack", "norm"), ATTACKS, ids=named)
def test_an_image_without_a_valid_label_is_adversarial_for_both_goals(attack: Attack, norm: Norm, goal: Goal) -> None:
    model = LinearModel(seed=1, side=4, spread=0.1, count=6)
    far = distance(starts(model), model.images, norm)
    model.classifier = Abstaining(model.classifier, torch.cat([model.images, starts(model)]))
    batch = attacked(model, attack, norm, goal, limit=1000)
    assert (batch.findings.distances < 0.1 * far).all()


@pytest.mark.parametrize(
    ("attack", "norm", "factor"),
    [
        (Boundary(), Norm.L2, 2.5),
        (Evolutionary(), Norm.L2, 1.05),
        (HopSkipJump(), Norm.L2, 1.1),
        (HopSkipJump(), Norm.LINF, 1.2),
    ],
    ids=named,
)
def test_two_thousand_queries_come_near_the_optimum(attack: Attack, norm: Norm, factor: float) -> None:
    model = LinearModel(seed=2, side=4, spread=0.1, count=9, classes=2)
    batch = attacked(model, attack, norm, limit=2000)
    ratios = batch.findings.distances / model.smallest(norm)
    assert ratios.median() < factor


class EightBits(CountingClassifier):
    """A model that sees images of 8 bits, as submissions do."""

    rounds = True

    def seen(self, images: Tensor) -> Tensor:
        return as_images(as_pixels(images))

    def labels(self, images: Tensor) -> Tensor:
        return super().labels(self.seen(images))


@pytest.mark.parametrize(
    ("attack", "norm", "factor"), [(Boundary(), Norm.L2, 5.0), (HopSkipJump(), Norm.L2, 1.4)], ids=named
)
def test_they_come_near_the_optimum_of_a_model_that_sees_images_of_8_bits(
    attack: Attack, norm: Norm, factor: float
) -> None:
    model = LinearModel(seed=2, side=8, spread=0.2, count=3, classes=2)
    model.classifier = eight_bits = EightBits(model.classifier)
    model.images = eight_bits.seen(model.images)
    model.labels = model.classifier.labels(model.images)
    batch = model.batch(attack, norm, limit=3000)
    batch.findings = Findings(model.images, norm, seen=eight_bits.seen)
    attack.run(batch)
    ratios = batch.findings.distances / model.smallest(norm)
    assert ratios.median() < factor


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize(("attack", "norm"), ATTACKS, ids=named)
def test_queries_are_those_that_the_model_saw_and_within_the_limit(attack: Attack, norm: Norm, goal: Goal) -> None:
    model = LinearModel(seed=2, spread=0.1, count=4)
    counting = model.classifier = CountingClassifier(model.classifier)
    for limit in (1, 2, 3, 4, 15, 150, 400):
        counting.images_seen = 0
        batch = attacked(model, attack, norm, goal, limit=limit)
        assert batch.model.queries.sum() == counting.images_seen
        if not isinstance(attack, HopSkipJump):
            assert batch.model.queries.tolist() == [limit] * 4


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize(("attack", "norm"), ATTACKS, ids=named)
def test_an_image_falls_alike_in_batches_of_one_and_of_many(attack: Attack, norm: Norm, goal: Goal) -> None:
    model = LinearModel(seed=3, spread=0.1, count=6)
    model.classifier = NetworkClassifier(InDouble(model), model.classes)
    whole = attacked(model, attack, norm, goal, limit=300)
    for row in (0, 5):
        alone = attacked(model, attack, norm, goal, limit=300, rows=slice(row, row + 1))
        assert alone.model.queries.tolist() == [whole.model.queries[row]]
        assert alone.findings.traces[0].tolist() == pytest.approx(whole.findings.traces[row].tolist(), rel=1e-3)


@pytest.mark.parametrize(("attack", "norm"), ATTACKS, ids=named)
def test_the_walk_depends_on_the_seed(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=3, spread=0.1, count=2)
    found = [attacked(model, attack, norm, limit=150, seed=seed).findings.images for seed in (0, 0, 1)]
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@pytest.mark.parametrize(("attack", "norm"), ATTACKS, ids=named)
def test_nothing_is_found_for_an_image_without_a_start_of_its_target_class(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=3, spread=0.1, count=4)
    batch = model.batch(attack, norm, Goal.TARGETED, limit=60)
    attack.run(batch)
    assert batch.model.queries.tolist() == [1] * 4
    batch = model.batch(attack, norm, Goal.TARGETED, limit=60)
    batch.starts = starts(model)
    batch.starts[0] = torch.nan
    batch.starts[1] = model.images[1]  # the model does not give it the target class
    attack.run(batch)
    assert batch.findings.found.tolist() == [False, False, True, True]
    assert batch.model.queries[:2].tolist() == [1, 2]


@pytest.mark.parametrize(("attack", "norm"), ATTACKS, ids=named)
def test_nothing_is_found_where_no_noise_is_adversarial(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=3, side=2, count=2)
    linear = nn.Linear(12, 10)
    nn.init.zeros_(linear.weight)
    model.classifier = NetworkClassifier(nn.Sequential(nn.Flatten(), linear), 10)
    model.labels = model.classifier.labels(model.images)
    batch = attacked(model, attack, norm, limit=5000)
    assert not batch.findings.found.any()
    assert batch.model.queries.tolist() == [1001] * 2


@pytest.mark.parametrize(("attack", "norm"), ATTACKS, ids=named)
def test_an_image_that_is_wrong_already_costs_one_query(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=1, count=3)
    model.labels = model.targets
    batch = attacked(model, attack, norm, limit=1000)
    assert batch.findings.traces.tolist() == [[0.0] * len(STRENGTHS)] * 3
    assert batch.model.queries.tolist() == [1] * 3


@pytest.mark.parametrize(("attack", "norm"), ATTACKS, ids=named)
def test_a_start_is_found_where_fine_noise_has_one_class(attack: Attack, norm: Norm) -> None:
    class Bright(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            brightness = images.flatten(1).mean(dim=1)
            return torch.stack([0.8 - brightness, brightness - 0.8], dim=1)

    model = LinearModel(seed=3, side=16, count=3)
    model.classifier = NetworkClassifier(Bright(), 2)
    model.labels = torch.zeros_like(model.labels)
    batch = attacked(model, attack, norm, limit=1000)
    assert batch.findings.found.all()
