"""The rules of competitions of released models."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from evaluation.formats.curves.threat_models import Goal, Norm

TABLE = {"name": "boundary", "goal": "targeted", "norm": "linf", "queries": 500}


def test_an_attack_is_read_from_a_table() -> None:
    assert ListedAttack.read(TABLE) == ListedAttack("boundary", Goal.TARGETED, Norm.LINF, 500)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"goal": "any"}, "'any' is not a valid Goal"),
        ({"norm": "l1"}, "'l1' is not a valid Norm"),
        ({"norm": "l2-normalised"}, "the norm of boundary must be linf or l2"),
        ({"name": 3}, "the name of an attack is a string, not 3"),
        *(({"queries": number}, "queries of boundary must be a whole number") for number in (0, -1, 2.5, True, 10**7)),
        ({"budget": 1}, "each attack has exactly the keys name, goal, norm, queries"),
    ],
)
def test_a_wrong_value_of_an_attack_is_named(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        ListedAttack.read(TABLE | changed)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"attacks": ()}, "at least one attack"),
        ({"attacks": (ListedAttack.read(TABLE),) * 2}, "twice"),
        ({"classes": 1}, "classes must be from 2"),
    ],
)
def test_wrong_rules_are_refused(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        CurvesRules(**values)


def test_each_norm_has_its_budget() -> None:
    rules = CurvesRules(budget_linf=0.1, budget_l2=2.0)
    assert (rules.budget(Norm.LINF), rules.budget(Norm.L2)) == (0.1, 2.0)
