"""The budget of each sample: which sample pays for a query, and which query of it that is."""

from __future__ import annotations

from evaluation.formats.query.referee.query_budget import Budget, Charge


def test_a_query_beyond_the_budget_is_charged_to_nobody() -> None:
    budget = Budget([1, 2], 2)
    assert budget.charge([1, 1, 2, 1]) == [1, 2, 1, 0]
    assert budget.left([1, 2]) == [0, 1]
    assert [budget.used(1), budget.used(2)] == [2, 1]


def test_the_sample_that_a_query_belongs_to_pays_instead_of_the_named_one() -> None:
    budget = Budget([1, 2], 3)
    budget.charge([1, 1, 2])
    assert budget.settle([1, 1, 2], [2, 1, 2]) == [Charge(2, 1, True), Charge(1, 1, True), Charge(2, 2, True)]
    assert budget.left([1, 2]) == [2, 1]


def test_the_named_sample_pays_for_a_query_of_a_sample_without_budget_and_gets_no_answer() -> None:
    budget = Budget([1, 2], 2)
    budget.charge([2])
    budget.settle([2], [2])
    budget.charge([1, 1])
    assert budget.settle([1, 1], [2, 2]) == [Charge(2, 2, True), Charge(1, 1, False)]
    assert budget.left([1, 2]) == [1, 0]


def test_no_query_is_free_where_neither_can_pay() -> None:
    budget = Budget([1, 2], 1)
    budget.charge([1, 2])
    # the second image takes the last query of the first sample, which then cannot pay for an image of the other's
    assert budget.settle([2, 1], [1, 1]) == [Charge(1, 1, True), Charge(1, 0, False)]
    assert budget.left([1, 2]) == [0, 1]
