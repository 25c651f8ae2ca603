from __future__ import annotations

import pytest

from evaluation.formats.curves.attacks.base import Attack
from evaluation.formats.curves.attacks.fgsm import Fgsm
from evaluation.formats.curves.attacks.iterative import Bim, Mim
from evaluation.formats.curves.threat_models import Norm
from tests.evaluation.formats.curves.linear_models import LinearModel


@pytest.mark.parametrize("attack", [Fgsm(), Bim(), Mim()], ids=lambda attack: attack.name)
@pytest.mark.parametrize("norm", [Norm.LINF, Norm.L2])
def test_a_budget_of_thrice_the_distance_is_enough_and_less_than_the_distance_is_not(
    attack: Attack, norm: Norm
) -> None:
    world = LinearModel(seed=1)
    for times, found in ((3.0, True), (0.99, False)):
        batch = world.batch(attack, norm, budgets=(times * world.smallest(norm)).float())
        attack.run(batch)
        assert batch.findings.found.tolist() == [found] * len(world.images)
