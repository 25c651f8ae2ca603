"""Models of 2018 through the process sandbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evaluation.domain.failure_reasons import Reason
from evaluation.formats.query.results import Outcome

Play = Callable[..., Any]


def test_a_model_of_2018_plays_without_a_failure(play: Play) -> None:
    played = play("template-model", count=2)
    assert [row.outcome for row in played.rows] == [Outcome.ADVERSARIAL] * 2
    assert not played.failures


def test_a_model_may_answer_one_value_for_each_of_200_classes(play: Play) -> None:
    played = play("logits-model", count=1)
    assert played.rows[0].outcome is Outcome.ADVERSARIAL
    assert not played.failures


def test_an_exception_leaves_its_image_without_a_label_and_the_model_lives_on(play: Play) -> None:
    played = play("raises-on-some", count=2)
    assert [row.outcome for row in played.rows] == [Outcome.ADVERSARIAL] * 2
    assert "ValueError: too bright" in played.log
    assert not played.failures


def test_other_bounds_than_those_of_2018_end_it_in_setup(play: Play) -> None:
    played = play("wrong-bounds", count=1)
    assert {failure.reason for failure in played.failures} == {Reason.EXITED_IN_SETUP}
    assert "bounds must be (0, 255)" in played.log
