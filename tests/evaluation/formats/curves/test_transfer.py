from __future__ import annotations

import pytest
import torch

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.attacks.base import Attack
from evaluation.formats.curves.attacks.diverse_inputs import TransferDim
from evaluation.formats.curves.attacks.fgsm import Fgsm, TransferFgsm
from evaluation.formats.curves.attacks.iterative import Bim, Mim, TransferBim, TransferMim
from evaluation.formats.curves.threat_models import Goal, Norm
from tests.evaluation.formats.curves.linear_models import LinearModel

TRANSFER = [TransferFgsm(), TransferBim(), TransferMim(), TransferDim()]


def named(value: object) -> str:
    return value.name if isinstance(value, Attack) else str(value)


@pytest.mark.parametrize("norm", [Norm.LINF, Norm.L2], ids=named)
@pytest.mark.parametrize(
    ("transfer", "white_box"), [(TransferFgsm(), Fgsm()), (TransferBim(), Bim()), (TransferMim(), Mim())], ids=named
)
def test_with_the_model_itself_as_substitute_the_images_are_those_of_the_white_box_attack(
    transfer: Attack, white_box: Attack, norm: Norm
) -> None:
    model = LinearModel(seed=1, spread=0.1)
    budgets = 1.5 * model.smallest(norm).float()
    everything = range(11)
    first = model.batch(transfer, norm, budgets=budgets, strengths=everything, substitute=model.classifier)
    second = model.batch(white_box, norm, budgets=budgets, strengths=everything)
    transfer.run(first)
    white_box.run(second)
    assert first.findings.found.any()
    assert torch.allclose(first.findings.traces, second.findings.traces)


@pytest.mark.parametrize("goal", list(Goal), ids=named)
@pytest.mark.parametrize("norm", [Norm.LINF, Norm.L2], ids=named)
@pytest.mark.parametrize("attack", TRANSFER, ids=named)
def test_the_model_is_asked_for_labels_alone_and_what_it_confirms_is_within_the_budget(
    attack: Attack, norm: Norm, goal: Goal
) -> None:
    model = LinearModel(seed=1, spread=0.1)
    budgets = 6 * model.smallest(norm, goal).float()
    batch = model.batch(attack, norm, goal, budgets=budgets, substitute=model.classifier)
    attack.run(batch)  # a counted model raises DeniedError if it is asked for more
    found = batch.findings.found
    labels = model.classifier.labels(batch.findings.images)
    reached = labels != model.labels if goal is Goal.UNTARGETED else labels == model.targets
    assert torch.equal(reached, found)
    assert found.float().mean() > 0.8
    assert (batch.findings.distances[found] <= budgets[found]).all()
    assert batch.model.gradients.sum() == 0


def test_without_a_trace_the_model_is_asked_about_the_clean_and_the_last_image() -> None:
    model, other = LinearModel(seed=1, spread=0.1), LinearModel(seed=2, spread=0.1)
    batch = model.batch(TransferBim(), Norm.L2, budgets=torch.full((40,), 1e-3), substitute=other.classifier)
    TransferBim().run(batch)
    assert batch.model.queries.tolist() == [2] * 40


@pytest.mark.parametrize("attack", TRANSFER, ids=named)
def test_images_for_another_model_rarely_transfer_between_unrelated_ones(attack: Attack) -> None:
    model, other = LinearModel(seed=1, spread=0.1), LinearModel(seed=2, spread=0.1)
    batch = model.batch(
        attack, Norm.L2, budgets=1.5 * model.smallest(Norm.L2).float(), strengths=(1, 5), substitute=other.classifier
    )
    attack.run(batch)
    assert batch.findings.found.float().mean() < 0.2


@pytest.mark.parametrize("attack", TRANSFER, ids=named)
def test_a_missing_substitute_is_named(attack: Attack) -> None:
    model = LinearModel(seed=1)
    with pytest.raises(Refusal, match="no substitute"):
        attack.run(model.batch(attack, Norm.L2, budgets=torch.ones(40)))


def test_dim_draws_for_an_image_do_not_depend_on_its_batch() -> None:
    model = LinearModel(seed=1, spread=0.1)
    budgets = 2 * model.smallest(Norm.L2).float()
    whole = model.batch(TransferDim(), Norm.L2, budgets=budgets, substitute=model.classifier)
    alone = model.batch(TransferDim(), Norm.L2, budgets=budgets[9:10], rows=slice(9, 10), substitute=model.classifier)
    TransferDim().run(whole)
    TransferDim().run(alone)
    assert torch.allclose(whole.findings.images[9], alone.findings.images[0], atol=1e-5)


def test_dim_pads_what_it_makes_smaller() -> None:
    images = torch.ones((2, 3, 20, 20))
    changed = TransferDim().diverse(images, torch.tensor([[0.1, 0.0, 0.0, 0.99], [0.9, 0.0, 0.0, 0.0]]))
    assert torch.equal(changed[1], images[1])
    assert changed[0].shape == (3, 20, 20)
    assert changed[0].sum() == 3 * 18 * 18
    assert changed[0, :, :18, 2:].min() == 1
