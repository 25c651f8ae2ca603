from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from evaluation.formats.curves.results import Results
from evaluation.formats.curves.scoring.suspicions import Suspicion, suspicions, worst_case
from evaluation.formats.curves.threat_models import Knowledge
from tests.evaluation.formats.curves.results_of import results_of

FALLS, STANDS = [0.05] * 100, [0.5] * 100


def kinds(results: Sequence[Results]) -> list[Suspicion]:
    return [each.suspicion for each in suspicions(results)]


def test_a_model_against_which_more_knowledge_is_stronger_is_not_suspect() -> None:
    decision = results_of(STANDS, attack="boundary", knowledge=Knowledge.DECISION)
    assert kinds([results_of(FALLS), results_of(FALLS, attack="fgsm"), decision]) == []


@pytest.mark.parametrize("knowledge", [Knowledge.DECISION, Knowledge.SCORE, Knowledge.TRANSFER])
def test_it_warns_of_an_attack_without_gradients_that_is_stronger(knowledge: Knowledge) -> None:
    other = results_of(FALLS, attack="other", knowledge=knowledge)
    assert kinds([results_of(STANDS), other]) == [Suspicion.LESS_KNOWLEDGE_IS_STRONGER]


def test_a_difference_within_two_standard_errors_is_no_sign() -> None:
    white = results_of([0.05] * 50 + [0.5] * 50)
    other = results_of([0.05] * 58 + [0.5] * 42, attack="other", knowledge=Knowledge.SCORE)
    assert kinds([white, other]) == []


def test_it_warns_of_one_step_that_is_stronger_than_many() -> None:
    assert kinds([results_of(STANDS), results_of(FALLS, attack="fgsm")]) == [Suspicion.ONE_STEP_IS_STRONGER]


def test_it_warns_of_failures_at_larger_budgets_than_one_that_was_enough() -> None:
    falls = [(0.1, True), (0.2, False)]
    assert kinds([results_of(FALLS, tried=[falls] * 100)]) == [Suspicion.LARGER_BUDGET_FAILS]
    assert kinds([results_of(FALLS, tried=[[(0.2, True), (0.1, False)]] * 100)]) == []


def test_it_warns_of_images_that_withstand_every_white_box_attack() -> None:
    first, second = results_of([math.inf, 0.1]), results_of([0.1, math.inf], attack="mim")
    assert Suspicion.NO_BUDGET_IS_ENOUGH in kinds([first])
    assert Suspicion.NO_BUDGET_IS_ENOUGH not in kinds([first, second])


@pytest.mark.parametrize(("last", "expected"), [(0.05, [Suspicion.SQUARE_ADDS_TO_AUTOATTACK]), (math.inf, [])])
def test_it_warns_where_square_finds_what_white_box_attacks_of_autoattack_did_not(
    last: float, expected: list[Suspicion]
) -> None:
    assert kinds([results_of([last], attack="autoattack", traces=[[math.inf, last]], tried=[[]])]) == expected


def test_the_worst_case_is_the_nearest_adversarial_of_any_attack_and_curve() -> None:
    first, second = results_of([0.3, 0.2]), results_of([0.4, 0.4], attack="mim", traces=[[0.5, 0.1], [math.inf, 0.4]])
    assert worst_case([first, second]).tolist() == [0.1, 0.2]
