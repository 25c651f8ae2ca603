"""What a site says of attacks without loading them is what their classes say."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from competitions.services import import_competition
from evaluation.formats.curves.attacks.budget_brackets import DOUBLINGS
from evaluation.formats.curves.attacks.smallest_budget import BISECTIONS
from evaluation.formats.curves.models.sandboxed_classifier import GRADIENT_FACTOR
from evaluation.formats.curves.rules import KNOWLEDGE, ListedAttack
from evaluation.formats.curves.runner.listed_benchmark import CLASSES, attack_of
from evaluation.formats.curves.threat_models import Capability, Norm
from formats.curves.listed_attacks import ATTACKS, BUDGET_RUNS, GRADIENT_COSTS, AttackFacts
from formats.curves.season_costs import season_quantities


def test_the_listed_facts_of_each_attack_are_those_of_its_class() -> None:
    said = {
        name: AttackFacts(each.title, each.capability, each.goals, each.norms, getattr(each, "candidates", 1))
        for name, each in CLASSES.items()
    }
    assert dict(ATTACKS) == said
    assert dict(KNOWLEDGE) == {name: each.knowledge for name, each in CLASSES.items()}
    assert (GRADIENT_COSTS, BUDGET_RUNS) == (GRADIENT_FACTOR, DOUBLINGS + BISECTIONS + 2)


def test_before_anything_is_played_the_costs_of_a_season_are_the_limits_of_what_attacks_may_ask(
    db: None, root: Path
) -> None:
    """One of the gradients of an iteration takes up to four labels, and a search over budgets many runs."""
    document = tomllib.loads((root / "competitions/digits-white-box.toml").read_text(encoding="utf-8"))
    query = next(each for each in season_quantities(import_competition(document)) if each.name == "query_seconds")
    asked = {"apgd-ce": 5 * 22 * 17, "fmn": 5 * 52, "square": 201 * 17, "evolutionary": 501}
    assert query.value == pytest.approx(0.04 * sum(asked.values()) / (20 + 50 + 200 + 500))


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_fails_with_rounding_exactly_where_rules_refuse_it(name: str) -> None:
    for norm in ATTACKS[name].norms:
        goal = min(ATTACKS[name].goals)
        refused = ATTACKS[name].capability is Capability.CONSTRAINED and norm is not Norm.LINF
        listed = ListedAttack(name=name, goal=goal, norm=norm, queries=20)
        assert bool(attack_of(listed).fails_with_rounding(norm)) is refused
