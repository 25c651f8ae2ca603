"""Attacks that misbehave through the SDK: their results are kept, and the failure is named."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import Side
from evaluation.formats.query.results import Outcome


def test_a_late_attack_keeps_its_best(game: Any) -> None:
    never = threading.Event()

    def late(model: Any, image: Any, label: int | None, **_: Any) -> Any:
        for step in (200.0, 20.0, 40.0):
            model(image + step)
        never.wait(3)
        return image + 8.0

    rows = game.play(attack=late, samples=game.samples(2), rules=replace(game.rules, attack_seconds_per_sample=1.0))
    assert rows[0].outcome is Outcome.ADVERSARIAL
    assert rows[0].distance < 1.2
    assert [failure.reason for failure in game.failures] == [Reason.TOO_SLOW]
    assert rows[0].reason is Reason.TOO_SLOW


def test_a_crash_on_one_sample_ends_the_attack_but_not_what_it_found(game: Any) -> None:
    def crashing(model: Any, image: Any, label: int | None, **_: Any) -> Any:
        model(image + 20.0)
        raise SystemExit(3)

    rows = game.play(attack=crashing)
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 3
    assert [(failure.side, failure.reason) for failure in game.failures] == [(Side.ATTACK, Reason.DISCONNECTED)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    "wrong",
    [
        np.full((8, 8, 3), np.nan),
        np.full((8, 8, 3), np.inf),
        np.zeros((8, 8, 3), complex),
        np.full((8, 8, 3), "x"),
        np.zeros((4, 4, 3), np.uint8),
        np.zeros((3, 8, 8), np.uint8),
        "not an image",
    ],
    ids=["nan", "infinity", "complex", "text array", "small", "channels first", "text"],
)
def test_a_wrong_image_costs_its_sample_alone(game: Any, wrong: Any) -> None:
    def attack(model: Any, image: Any, label: int | None, **_: Any) -> Any:
        if image.tobytes() != game.samples(1)[0].image.tobytes():
            return image + 20.0
        return wrong

    rows = game.play(attack=attack)
    assert [row.outcome for row in rows] == [Outcome.FAILED, Outcome.ADVERSARIAL, Outcome.ADVERSARIAL]
    assert rows[0].reason is Reason.ATTACK_RAISED
    assert [row.queries for row in rows] == [0, 1, 1]
    assert game.failures == ()


def test_a_wrong_image_does_not_cost_what_its_sample_had_found(game: Any) -> None:
    def attack(model: Any, image: Any, label: int | None, **_: Any) -> Any:
        model(image + 20.0)
        return image * np.nan

    rows = game.play(attack=attack)
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 3


def test_an_image_that_was_never_queried_is_queried_once(game: Any) -> None:
    rows = game.play(attack=lambda model, image, *_, **__: image + 20.0)
    assert [(row.outcome, row.queries) for row in rows] == [(Outcome.ADVERSARIAL, 1)] * 3


def test_an_image_that_was_never_queried_counts_for_nothing_when_the_budget_is_spent(game: Any) -> None:
    def attack(model: Any, image: Any, label: int | None, **_: Any) -> Any:
        model(image + 1.0)
        model(image + 2.0)
        return image + 20.0

    rows = game.play(attack=attack, rules=replace(game.rules, query_budget=2))
    assert [(row.outcome, row.queries) for row in rows] == [(Outcome.FAILED, 2)] * 3


def test_the_clean_image_is_no_adversarial(game: Any) -> None:
    rows = game.play(attack=lambda model, image, *_, **__: image)
    assert [(row.outcome, row.reason) for row in rows] == [(Outcome.FAILED, Reason.NO_ADVERSARIAL)] * 3
    assert all(row.distance == row.worst_case for row in rows)
