from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from evaluation.formats.curves.attacks.apgd import ApgdCe, ApgdT
from evaluation.formats.curves.attacks.autoattack import AutoAttack
from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, Findings, distance
from evaluation.formats.curves.attacks.carlini_wagner import CarliniWagner
from evaluation.formats.curves.attacks.deepfool import DeepFool
from evaluation.formats.curves.attacks.fab import Fab, FabT
from evaluation.formats.curves.attacks.fast_minimum_norm import FastMinimumNorm
from evaluation.formats.curves.attacks.fgsm import Fgsm
from evaluation.formats.curves.attacks.iterative import Bim, Mim, Pgd
from evaluation.formats.curves.models.classifier import NetworkClassifier
from evaluation.formats.curves.models.counted_model import CountedModel
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm
from tests.evaluation.formats.curves.linear_models import LinearModel

SINGLE = 1e-4
"""What single precision may change of a distance, of itself: logits of margins 0.01 times as large as their terms."""
NORMS = [Norm.LINF, Norm.L2]
CONSTRAINED = [
    *(Fgsm(), Bim(), Mim(), Pgd(iterations=10, restarts=2), ApgdCe(iterations=20), ApgdT(iterations=10)),
    AutoAttack((ApgdCe(5), ApgdT(10))),
]
QUICK_CW = CarliniWagner(iterations=40, rate=0.003, growths=1, bisections=2)
QUICK_FMN = FastMinimumNorm(iterations=30)
QUICK_FAB, QUICK_FAB_T = Fab(iterations=10), FabT(iterations=10)
ALL = [*CONSTRAINED, DeepFool(), QUICK_CW, QUICK_FMN, QUICK_FAB, QUICK_FAB_T]
FORMS = [(attack, norm) for attack in ALL for norm in NORMS if norm in attack.norms]
"""Each attack with each of its norms."""


def named(value: object) -> str:
    return value.name if isinstance(value, Attack) else str(value)


def clear_images(model: LinearModel, norm: Norm, goal: Goal = Goal.UNTARGETED) -> Tensor:
    """Return the images that are not so near to a boundary that single precision decides."""
    smallest = model.smallest(norm, goal)
    return (smallest > smallest.median() / 10).nonzero()[:, 0]


@pytest.mark.parametrize(("seed", "side", "classes"), [(1, 8, 10), (2, 4, 10), (3, 16, 10), (4, 8, 3), (5, 8, 2)])
@pytest.mark.parametrize("norm", NORMS, ids=named)
@pytest.mark.parametrize("attack", [DeepFool(), FastMinimumNorm()], ids=named)
def test_optimising_attacks_come_near_the_optimum_and_never_below(
    attack: Attack, norm: Norm, seed: int, side: int, classes: int
) -> None:
    model = LinearModel(seed, classes, side, spread=0.1)
    rows = clear_images(model, norm)
    batch = model.batch(attack, norm, rows=rows)
    attack.run(batch)
    ratios = batch.findings.distances / model.smallest(norm)[rows]
    assert ratios.min() > 1 - SINGLE
    assert ratios.median() < 1.05
    assert ratios.max() < (1.05 if isinstance(attack, DeepFool) else 1.3)


@pytest.mark.parametrize(("seed", "side", "classes"), [(1, 8, 10), (3, 16, 10), (4, 8, 3), (5, 8, 2)])
@pytest.mark.parametrize("norm", NORMS, ids=named)
@pytest.mark.parametrize("attack", [QUICK_FAB, QUICK_FAB_T], ids=named)
def test_fab_comes_within_a_hundredth_of_the_optimum_and_never_below(
    attack: Attack, norm: Norm, seed: int, side: int, classes: int
) -> None:
    model = LinearModel(seed, classes, side, spread=0.1, count=20)
    rows = clear_images(model, norm)
    batch = model.batch(attack, norm, rows=rows)
    attack.run(batch)
    ratios = batch.findings.distances / model.smallest(norm)[rows]
    assert ratios.min() > 1 - SINGLE
    assert ratios.max() < 1.01


@pytest.mark.parametrize(("seed", "side"), [(1, 8), (2, 4), (3, 12)])
def test_carlini_wagner_comes_near_the_optimum_and_never_below(seed: int, side: int) -> None:
    model = LinearModel(seed, side=side, spread=0.1)
    rows = clear_images(model, Norm.L2)
    attack = CarliniWagner()
    batch = model.batch(attack, Norm.L2, rows=rows)
    attack.run(batch)
    ratios = batch.findings.distances / model.smallest(Norm.L2)[rows]
    assert ratios.min() > 1 - SINGLE
    assert ratios.max() < 1.05


@pytest.mark.parametrize(("attack", "norm"), FORMS, ids=named)
def test_what_an_attack_adds_is_an_adversarial_image_within_its_budget(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=1, spread=0.1)
    smallest = model.smallest(norm).float()
    constrained = attack in CONSTRAINED
    for times in (0.999, 1.5, 4.0) if constrained else (4.0,):
        budgets = times * smallest if constrained else torch.full_like(smallest, torch.inf)
        batch = model.batch(attack, norm, budgets=budgets)
        attack.run(batch)
        found, images = batch.findings.found, batch.findings.images
        assert not (constrained and times < 1 and found.any())
        assert found.all() or times < 4.0
        assert torch.equal(model.classifier.labels(images) != model.labels, found)
        assert images.dtype is torch.float32
        assert images.min() >= 0
        assert images.max() <= 1
        assert torch.equal(distance(images, model.images, norm)[found], batch.findings.distances[found])
        assert (batch.findings.distances[found] <= budgets[found]).all()


@pytest.mark.parametrize(("attack", "norm"), [each for each in FORMS if Goal.TARGETED in each[0].goals], ids=named)
def test_targeted_attacks_reach_the_target(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=2, spread=0.1)
    smallest = model.smallest(norm, Goal.TARGETED).float()
    budgets = 5 * smallest if attack in CONSTRAINED else None
    batch = model.batch(attack, norm, Goal.TARGETED, budgets=budgets)
    attack.run(batch)
    found = batch.findings.found
    assert found.float().mean() > 0.9
    assert torch.equal(model.classifier.labels(batch.findings.images)[found], model.targets[found])
    assert (batch.findings.distances >= smallest * (1 - SINGLE)).all()


@pytest.mark.parametrize(("attack", "norm"), FORMS, ids=named)
def test_an_image_falls_alike_in_batches_of_one_and_of_forty(attack: Attack, norm: Norm) -> None:
    model = LinearModel(seed=3, spread=0.1)
    budgets = 1.3 * model.smallest(norm).float() if attack in CONSTRAINED else torch.full((40,), torch.inf)
    whole = model.batch(attack, norm, budgets=budgets, strengths=(1, 5, 20))
    attack.run(whole)
    for row in (0, 7, 39):
        alone = model.batch(
            attack, norm, budgets=budgets[row : row + 1], rows=slice(row, row + 1), strengths=(1, 5, 20)
        )
        attack.run(alone)
        assert alone.findings.distances.tolist() == pytest.approx([float(whole.findings.distances[row])], rel=1e-3)
        assert alone.findings.traces[0].tolist() == pytest.approx(whole.findings.traces[row].tolist(), rel=1e-3)
        assert alone.model.gradients.tolist() == [whole.model.gradients[row]]


@pytest.mark.parametrize("attack", [Bim(), Pgd(), ApgdCe(), DeepFool(), QUICK_FMN], ids=named)
def test_traces_do_not_rise_and_end_at_the_distance(attack: Attack) -> None:
    model = LinearModel(seed=4, spread=0.1)
    budgets = 1.5 * model.smallest(Norm.LINF).float() if attack.capability == "constrained" else None
    batch = model.batch(attack, Norm.LINF, budgets=budgets, strengths=(0, 1, 2, 5, 10, 50, 10_000))
    attack.run(batch)
    traces = batch.findings.traces
    assert (traces[:, 1:] <= traces[:, :-1]).all()
    assert torch.equal(traces[:, -1], batch.findings.distances)
    assert traces[:, 0].isinf().all()


@pytest.mark.parametrize(
    ("attack", "gradients", "queries"),
    [
        (Fgsm(), 1, 2),
        (Bim(iterations=10), 10, 11),
        (Mim(iterations=7), 7, 8),
        (Pgd(iterations=10, restarts=3), 30, 34),  # and one look at the clean image
        (ApgdCe(iterations=20), 21, 22),
        (ApgdT(iterations=20, classes=9), 9 * 21, 9 * 21 + 1),
        (AutoAttack((ApgdCe(5), ApgdT(5))), 10 * 6, 10 * 6 + 2),
    ],
    ids=named,
)
def test_an_attack_without_success_costs_what_its_parameters_say(attack: Attack, gradients: int, queries: int) -> None:
    model = LinearModel(seed=1, spread=0.1)
    batch = model.batch(attack, Norm.L2, budgets=0.9 * model.smallest(Norm.L2).float())
    attack.run(batch)
    assert batch.model.gradients.tolist() == [gradients] * 40
    assert batch.model.queries.tolist() == [queries] * 40


@pytest.mark.parametrize("attack", ALL, ids=named)
def test_an_image_that_is_wrong_already_is_found_at_distance_zero(attack: Attack) -> None:
    model = LinearModel(seed=1)
    norm = Norm.L2
    batch = replace(model.batch(attack, norm, strengths=(0, 5)), labels=model.targets, budgets=torch.ones(40))
    attack.run(batch)
    assert batch.findings.distances.tolist() == [0.0] * 40
    assert batch.findings.traces.tolist() == [[0.0, 0.0]] * 40
    assert batch.model.gradients.max() <= 1


@pytest.mark.parametrize("norm", NORMS, ids=named)
def test_deepfool_crosses_the_boundary_where_its_steps_are_cut_off_at_black_and_white(norm: Norm) -> None:
    model = LinearModel(seed=1, spread=0.1)
    model.images = model.images.round()
    model.labels = model.classifier.labels(model.images)
    batch = model.batch(DeepFool(), norm)
    DeepFool().run(batch)
    assert batch.findings.found.all()


def test_attacks_with_random_starts_depend_on_the_seed() -> None:
    model = LinearModel(seed=1, spread=0.1)
    found = []
    for seed in (0, 0, 1):
        batch = model.batch(Pgd(), Norm.L2, budgets=3 * model.smallest(Norm.L2).float(), seed=seed)
        Pgd().run(batch)
        found.append(batch.findings.images)
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@pytest.mark.parametrize("norm", NORMS, ids=named)
@pytest.mark.parametrize("budget", [1e-6, 8 / 255, 0.3, 1.0])
def test_single_precision_never_takes_an_image_out_of_its_budget(norm: Norm, budget: float) -> None:
    random = torch.Generator().manual_seed(0)
    clean = torch.rand((50, 3, 16, 16), generator=random)
    network = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 2))
    model = CountedModel(NetworkClassifier(network, 2), Knowledge.WHITE_BOX, 50)
    labels = torch.zeros(50, dtype=torch.int64)
    findings = Findings(clean, norm)
    batch = AttackedBatch(clean, labels, None, range(50), norm, torch.full((50,), budget), model, findings)
    for size in (1e-5, 0.1, 10.0):
        moved = batch.project(clean + size * torch.randn(clean.shape, generator=random), batch.rows)
        assert (distance(moved, clean, norm).double() <= budget).all()
