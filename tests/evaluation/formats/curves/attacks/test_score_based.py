from __future__ import annotations

import pytest
import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, distance
from evaluation.formats.curves.attacks.n_attack import NAttack
from evaluation.formats.curves.attacks.nes import Nes
from evaluation.formats.curves.attacks.spsa import Spsa
from evaluation.formats.curves.attacks.square import Square
from evaluation.formats.curves.attacks.zoo import Zoo
from evaluation.formats.curves.threat_models import Goal, Norm
from tests.evaluation.formats.curves.linear_models import CountingClassifier, LinearModel

NORMS = [Norm.LINF, Norm.L2]
GOALS = [Goal.UNTARGETED, Goal.TARGETED]
CONSTRAINED = [Nes(), Spsa(), NAttack(), Square()]
ATTACKS: list[Attack] = [*CONSTRAINED, Zoo()]
FORMS = [(attack, norm) for attack in ATTACKS for norm in NORMS if norm in attack.norms]

SINGLE = 1e-4
"""What single precision may change of a distance, of itself."""


def named(value: object) -> str:
    return value.name if isinstance(value, Attack) else str(value)


def attacked(
    model: LinearModel,
    attack: Attack,
    norm: Norm,
    goal: Goal = Goal.UNTARGETED,
    *,
    times: float,
    limit: int,
    rows: slice = slice(None),
    strengths: tuple[int, ...] = (),
) -> AttackedBatch:
    """Return the batch after the attack, with budgets of so many times the smallest distances."""
    budgets = (times * model.smallest(norm, goal)).float()[rows] if attack in CONSTRAINED else None
    batch = model.batch(attack, norm, goal, budgets=budgets, limit=limit, rows=rows, strengths=strengths)
    attack.run(batch)
    return batch


def adversarial(model: LinearModel, images: Tensor, goal: Goal) -> Tensor:
    labels = model.classifier.labels(images)
    return labels == model.targets if goal is Goal.TARGETED else labels != model.labels


@pytest.mark.parametrize(("attack", "norm"), FORMS, ids=named)
@pytest.mark.parametrize("goal", GOALS)
def test_what_is_found_is_adversarial_within_its_budget_and_not_below_the_optimum(
    attack: Attack, goal: Goal, norm: Norm
) -> None:
    model = LinearModel(seed=1, spread=0.1, count=12)
    smallest = model.smallest(norm, goal).float()
    for times, limit in ((0.99, 500), (4.0, 1500)):
        batch = attacked(model, attack, norm, goal, times=times, limit=limit)
        found, distances = batch.findings.found, batch.findings.distances
        assert torch.equal(adversarial(model, batch.findings.images, goal), found)
        assert torch.equal(distance(batch.findings.images, model.images, norm)[found], distances[found])
        assert (distances >= smallest * (1 - SINGLE)).all()
        assert batch.findings.images.min() >= 0
        assert batch.findings.images.max() <= 1
        if attack in CONSTRAINED:
            assert (distances[found] <= batch.budgets[found]).all()
            assert not (times < 1 and found.any())
        assert found.float().mean() > 0.9 or times < 1


@pytest.mark.parametrize(("attack", "norm"), FORMS, ids=named)
def test_queries_are_those_that_the_model_saw_and_within_the_limit(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=2, spread=0.1, count=5)
    counting = model.classifier = CountingClassifier(model.classifier)
    for limit in (1, 2, 3, 101, 102, 310):
        counting.images_seen = 0
        batch = attacked(model, attack, norm, times=0.9, limit=limit)
        assert batch.model.queries.sum() == counting.images_seen
        assert batch.model.queries.min() > 0


@pytest.mark.parametrize("limit", [101, 102, 202, 203, 1000])
@pytest.mark.parametrize("attack", [Nes(), Spsa(), NAttack()], ids=named)
def test_a_draw_starts_only_if_its_samples_and_the_check_of_success_fit(attack: Attack, limit: int) -> None:
    model = LinearModel(seed=2, spread=0.1, count=3)
    batch = attacked(model, attack, Norm.LINF, times=0.9, limit=limit)
    assert batch.model.queries.tolist() == [1 + (limit - 1) // 101 * 101] * 3


@pytest.mark.parametrize("attack", CONSTRAINED, ids=named)
def test_an_image_asks_no_more_once_it_is_found(attack: Attack) -> None:
    model = LinearModel(seed=3, spread=0.1, count=10)
    strengths = tuple(range(1, 3001))
    times = 4.0 if isinstance(attack, Square) else 1.3
    batch = attacked(model, attack, Norm.L2, times=times, limit=3000, strengths=strengths)
    assert batch.findings.found.all()
    first = batch.findings.traces.isinf().sum(dim=1) + 1
    assert torch.equal(first, batch.model.queries)
    assert len(set(first.tolist())) > 1


@pytest.mark.parametrize(("attack", "norm"), FORMS, ids=named)
def test_an_image_falls_alike_in_batches_of_one_and_of_many(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=3, spread=0.1, count=13)
    strengths = (100, 300, 400)
    times = 4.0 if isinstance(attack, Square) else 1.5
    whole = attacked(model, attack, norm, times=times, limit=400, strengths=strengths)
    for row in (0, 12):
        alone = attacked(model, attack, norm, times=times, limit=400, rows=slice(row, row + 1), strengths=strengths)
        assert alone.model.queries.tolist() == [whole.model.queries[row]]
        assert alone.findings.traces[0].tolist() == pytest.approx(whole.findings.traces[row].tolist(), rel=1e-3)


@pytest.mark.parametrize("attack", ATTACKS, ids=named)
def test_an_image_that_is_wrong_already_costs_one_query(attack: Attack) -> None:
    model = LinearModel(seed=1, count=5)
    model.labels = model.targets
    batch = model.batch(attack, Norm.L2, budgets=torch.ones(5), limit=1000, strengths=(1,))
    attack.run(batch)
    assert batch.findings.traces.tolist() == [[0.0]] * 5
    assert batch.model.queries.tolist() == [1] * 5


@pytest.mark.parametrize("attack", ATTACKS, ids=named)
def test_an_attack_without_a_limit_of_queries_is_refused(attack: Attack) -> None:
    model = LinearModel(seed=1, count=2)
    with pytest.raises(ValueError, match="no limit"):
        attack.run(model.batch(attack, Norm.L2, budgets=torch.ones(2)))


@pytest.mark.parametrize(
    ("attack", "limit", "factor"),
    [
        (Zoo(), 20_000, 4.0),
        (Zoo(coordinates=48, iterations=60, rate=0.002, first_c=0.1, bisections=6), 40_000, 1.1),
    ],
    ids=["defaults", "many small steps"],
)
def test_zoo_comes_nearer_to_the_optimum_the_smaller_its_steps(attack: Zoo, limit: int, factor: float) -> None:
    model = LinearModel(seed=4, side=4, spread=0.1, count=5)
    batch = attacked(model, attack, Norm.L2, times=1.0, limit=limit, strengths=(300, 1000, 3000, limit))
    ratios = batch.findings.distances / model.smallest(Norm.L2)
    assert ratios.min() > 1 - SINGLE
    assert ratios.median() < factor
    traces = batch.findings.traces
    assert (traces[:, 1:] <= traces[:, :-1]).all()
    assert torch.equal(traces[:, -1], batch.findings.distances)


@pytest.mark.parametrize("side", [1, 2, 3, 4, 8, 11])
@pytest.mark.parametrize("norm", NORMS, ids=named)
def test_square_uses_the_whole_budget_on_images_of_every_size(norm: Norm, side: int) -> None:
    model = LinearModel(seed=4, side=side, spread=0.02, count=3)
    batch = model.batch(Square(), norm, budgets=torch.full((3,), 0.2), limit=300)
    Square().run(batch)
    found = batch.findings.found
    assert found.any()
    assert batch.findings.distances[found].tolist() == pytest.approx([0.2] * int(found.sum()), rel=1e-5)
