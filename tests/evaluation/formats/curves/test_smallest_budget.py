from __future__ import annotations

import pytest
import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, distance
from evaluation.formats.curves.attacks.budget_brackets import Brackets
from evaluation.formats.curves.attacks.fgsm import Fgsm
from evaluation.formats.curves.attacks.iterative import Bim, Mim, Pgd
from evaluation.formats.curves.attacks.smallest_budget import BISECTIONS, Searched, search
from evaluation.formats.curves.threat_models import Goal, Norm
from tests.evaluation.formats.curves.linear_models import LinearModel

FIRST = {Norm.LINF: 0.1, Norm.L2: 1.0}
CASES = [(1, 8), (2, 4), (3, 16)]


def named(value: object) -> str:
    return value.name if isinstance(value, Attack) else str(value)


def searched(
    attack: Attack,
    model: LinearModel,
    norm: Norm,
    rows: Tensor,
    goal: Goal = Goal.UNTARGETED,
    first: float | None = None,
) -> tuple[Searched, int]:
    """Return what the search found, and how many gradients it took in all."""
    batches = []

    def batch_of(attack: Attack, rows: Tensor, budgets: Tensor) -> AttackedBatch:
        batches.append(model.batch(attack, norm, goal, budgets=budgets, rows=rows))
        return batches[-1]

    found = search(attack, batch_of, rows, FIRST[norm] if first is None else first)
    return found, sum(int(batch.model.gradients.sum()) for batch in batches)


@pytest.mark.parametrize(("seed", "side"), CASES)
@pytest.mark.parametrize("norm", list(FIRST), ids=named)
@pytest.mark.parametrize(("attack", "most"), [(Fgsm(), 3.0), (Bim(), 1.25), (Mim(), 1.25)], ids=named)
def test_the_distance_is_near_the_optimum_and_never_below(
    attack: Attack, most: float, norm: Norm, seed: int, side: int
) -> None:
    model = LinearModel(seed, side=side, spread=0.1)
    smallest = model.smallest(norm)
    rows = (smallest > smallest.median() / 10).nonzero()[:, 0]
    found, _ = searched(attack, model, norm, rows)
    ratios = found.distances / smallest[rows]
    assert ratios.min() > 1 - 1e-4
    assert ratios.median() < most
    # with ten classes the cross-entropy leads past the nearest boundary
    assert ratios.max() < (3.0 if isinstance(attack, Fgsm) else 1.75)


@pytest.mark.parametrize(("seed", "side"), CASES)
@pytest.mark.parametrize("norm", list(FIRST), ids=named)
@pytest.mark.parametrize("attack", [Bim(), Mim()], ids=named)
def test_with_two_classes_the_distance_of_every_image_is_near_the_optimum(
    attack: Attack, norm: Norm, seed: int, side: int
) -> None:
    model = LinearModel(seed, classes=2, side=side, spread=0.1)
    smallest = model.smallest(norm)
    rows = (smallest > smallest.median() / 10).nonzero()[:, 0]
    found, _ = searched(attack, model, norm, rows)
    ratios = found.distances / smallest[rows]
    assert ratios.min() > 1 - 1e-4
    assert ratios.max() < 1.25


@pytest.mark.parametrize("norm", list(FIRST), ids=named)
@pytest.mark.parametrize("attack", [Fgsm(), Bim(), Mim(), Pgd(iterations=5, restarts=1)], ids=named)
def test_the_distance_depends_on_the_image_alone_not_on_the_batch(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=4, spread=0.1)
    whole, _ = searched(attack, model, norm, torch.arange(40))
    for rows in (torch.tensor([3]), torch.tensor([39]), torch.arange(5, 18)):
        part, _ = searched(attack, model, norm, rows)
        assert part.distances.tolist() == pytest.approx(whole.distances[rows].tolist(), rel=1e-4)


@pytest.mark.parametrize("goal", list(Goal), ids=named)
@pytest.mark.parametrize("attack", [Fgsm(), Bim()], ids=named)
def test_images_have_the_distance_and_are_adversarial_and_tries_are_recorded(attack: Attack, goal: Goal) -> None:
    model = LinearModel(seed=5, spread=0.1)
    found, _ = searched(attack, model, Norm.L2, torch.arange(40), goal)
    assert torch.equal(distance(found.images, model.images, Norm.L2), found.distances)
    labels = model.classifier.labels(found.images)
    assert (labels != model.labels if goal is Goal.UNTARGETED else labels == model.targets).all()
    tried = found.tried_budgets.isfinite()
    assert not (found.tried_found & ~tried).any()
    nearest = torch.where(found.tried_found, found.tried_budgets, torch.inf).amin(dim=1)
    assert (found.distances <= nearest).all()
    failed = torch.where(tried & ~found.tried_found, found.tried_budgets, 0.0).amax(dim=1)
    assert (found.distances >= 0.9 * failed).all()


def test_no_budget_above_five_doublings_of_the_first_is_tried() -> None:
    model = LinearModel(seed=6, spread=0.1)
    nearest = float(model.smallest(Norm.L2).min())
    found, _ = searched(Bim(), model, Norm.L2, torch.arange(40), first=nearest / 100)
    assert found.distances.isinf().all()
    assert not found.tried_found.any()
    assert torch.equal(found.images, model.images)
    assert found.tried_budgets.nan_to_num().amax(dim=1).tolist() == pytest.approx([nearest / 100 * 32] * 40)


@pytest.mark.parametrize("norm", list(FIRST), ids=named)
def test_a_model_that_tells_no_margins_is_searched_by_doubling_and_bisection_for_the_same_distances(norm: Norm) -> None:
    model = LinearModel(seed=8, spread=0.1)
    known, gradients = searched(Bim(), model, norm, torch.arange(40))
    model.classifier.rounds = True  # labels may be another function than scores
    first = FIRST[norm]
    unknown, more_gradients = searched(Bim(), model, norm, torch.arange(40))
    assert unknown.tried_budgets[:, 0].tolist() == pytest.approx([first] * 40)
    intervals = torch.maximum(unknown.distances, known.distances).div(first).log2().ceil().sub(1).clamp(min=0).exp2()
    assert ((known.distances - unknown.distances).abs() <= 1.01 * first * intervals / 2**BISECTIONS).all()
    assert 1.5 * gradients < more_gradients


def test_an_attack_of_one_step_tries_all_multiples_from_the_largest_down() -> None:
    model = LinearModel(seed=6, spread=0.1)
    found, gradients = searched(Fgsm(), model, Norm.L2, torch.arange(40), first=0.5)
    assert found.tried_budgets[0, :32].tolist() == pytest.approx([0.5 * times for times in range(32, 0, -1)])
    assert found.tried_budgets.shape == (40, 32 + BISECTIONS)
    assert gradients == 40  # the gradient of the clean image serves all tries


@pytest.mark.parametrize("norm", list(FIRST), ids=named)
@pytest.mark.parametrize("attack", [Bim(), Mim()], ids=named)
def test_the_search_costs_less_than_half_of_one_that_keeps_every_image_to_the_end(attack: Bim, norm: Norm) -> None:
    model = LinearModel(seed=7, spread=0.1)
    _, gradients = searched(attack, model, norm, torch.arange(40))
    naive = 40 * (1 + BISECTIONS) * attack.iterations
    assert 2 * gradients < naive


def test_no_images_are_searched_for_without_an_attack() -> None:
    model = LinearModel(seed=1)
    found, gradients = searched(Bim(), model, Norm.L2, torch.arange(0))
    assert found.distances.shape == (0,)
    assert found.tried_budgets.shape == (0, 0)
    assert gradients == 0


@pytest.mark.parametrize("margins_are_known", [False, True])
def test_a_search_ends_whose_successes_lie_above_their_budgets(margins_are_known: bool) -> None:
    """A model that rounds images sees a larger change than the budget, the same for many budgets."""
    brackets = Brackets(1.0, 10, 1, torch.device("cpu"))
    if margins_are_known:
        brackets.start(torch.tensor([-1.0]), torch.tensor([1.5]))
    tries = 0
    while len(places := brackets.open()):
        tries += 1
        assert tries <= 5 + 10 + 1
        budget = float(brackets.budgets[0])
        distance = 2.0 if budget > 1.7 else torch.inf
        margin = (budget - 1.7) / 1.7 if margins_are_known else torch.nan
        brackets.add(places, torch.tensor([distance]), torch.tensor([margin]))
    assert float(brackets.low[0]) <= 1.7 < float(brackets.high[0]) <= 1.7 + 2**-9
