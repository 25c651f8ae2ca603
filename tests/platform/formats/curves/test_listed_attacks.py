"""What a site says of attacks without loading them is what their classes say."""

from __future__ import annotations

import pytest

from evaluation.formats.curves.rules import KNOWLEDGE, ListedAttack
from evaluation.formats.curves.threat_models import Capability, Norm
from formats.curves.benchmark_runs import CLASSES, attack_of
from formats.curves.listed_attacks import ATTACKS, AttackFacts


def test_the_listed_facts_of_each_attack_are_those_of_its_class() -> None:
    said = {name: AttackFacts(each.title, each.capability, each.goals, each.norms) for name, each in CLASSES.items()}
    assert dict(ATTACKS) == said
    assert dict(KNOWLEDGE) == {name: each.knowledge for name, each in CLASSES.items()}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_fails_with_rounding_exactly_where_rules_refuse_it(name: str) -> None:
    for norm in ATTACKS[name].norms:
        goal = min(ATTACKS[name].goals)
        refused = ATTACKS[name].capability is Capability.CONSTRAINED and norm is not Norm.LINF
        listed = ListedAttack(name=name, goal=goal, norm=norm, queries=20)
        assert bool(attack_of(listed).fails_with_rounding(norm)) is refused
