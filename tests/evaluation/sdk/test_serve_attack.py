"""Attacks served in lock-step: the same frames and rows every time, one sample's trouble is its own."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import TrackName
from evaluation.formats.query.results import Outcome
from gauntlet import BudgetExhausted


def walk(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
    """Noise from every generator that attacks draw from, growing until the label changes."""
    for step in range(40):
        noise = rng.normal(step * 3, 5, image.shape) + random.random() + np.random.random()
        if model.is_adversarial(model(image + noise)):
            return None
    return None


def test_an_attack_of_several_samples_finds_an_adversarial_for_each(game: Any) -> None:
    rows = game.play(attack=walk)
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 3


def test_it_sends_the_same_bytes_every_time(game: Any) -> None:
    def frames_of(seed: int) -> list[bytes]:
        seen: list[bytes] = []

        def model(images: np.ndarray) -> Any:
            seen.append(images.tobytes())
            return game.brightness(images)

        game.play(attack=walk, model=model, seed=seed, samples=game.samples(7))
        return seen

    random.seed()
    assert frames_of(3) == frames_of(3)
    assert frames_of(3) != frames_of(4)


def test_functions_run_one_at_a_time_and_in_order(game: Any) -> None:
    running: list[int] = []
    order: list[int] = []

    def attack(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
        me = len(set(order))
        for step in range(3):
            running.append(me)
            assert len(running) == 1
            order.append(me)
            running.pop()
            model(image.astype(int) + step)

    game.play(attack=attack, samples=game.samples(4))
    assert order == [0, 1, 2, 3] * 3


def test_lanes_that_finish_early_leave_the_frames(game: Any) -> None:
    sizes: list[int] = []

    def attack(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
        starts.append(len(starts))
        for step in range(2 * len(starts) - 1):
            model(image.astype(int) + step)

    def model(images: np.ndarray) -> Any:
        sizes.append(len(images))
        return game.brightness(images)

    starts: list[int] = []
    game.play(attack=attack, model=model, samples=game.samples(3))
    assert sizes[1:6] == [3, 2, 2, 1, 1]  # the first frame is the referee's own


def test_questions_of_many_images_are_cut_into_frames(game: Any) -> None:
    labels: list[list[int]] = []

    def attack(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
        labels.append(model.many([image.astype(int) + step for step in range(50)]))

    game.play(attack=attack, samples=game.samples(3))
    assert [len(answer) for answer in labels] == [50] * 3
    assert labels[0] == sorted(labels[0])
    assert game.failures == ()


def test_an_attack_that_raises_spoils_its_own_sample_only(game: Any, capfd: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []

    def attack(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise ZeroDivisionError("second sample")
        return np.full_like(image, 255)

    rows = game.play(attack=attack)
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL, Outcome.FAILED, Outcome.ADVERSARIAL]
    assert rows[1].reason is Reason.ATTACK_RAISED
    assert "ZeroDivisionError: second sample" in capfd.readouterr().err


def test_a_spent_budget_ends_a_sample_in_order(game: Any) -> None:
    def attack(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
        model(np.full_like(image, 200))
        while True:
            model(rng.integers(0, 256, image.shape))

    rows = game.play(attack=attack, rules=replace(game.rules, query_budget=20))
    assert [(row.outcome, row.queries, row.reason) for row in rows] == [(Outcome.ADVERSARIAL, 20, None)] * 3


def test_a_spent_budget_can_be_caught(game: Any) -> None:
    left: list[int] = []

    def attack(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
        try:
            while True:
                model(rng.integers(0, 256, image.shape))
        except BudgetExhausted:
            left.append(model.queries_left)
        return model.best

    game.play(attack=attack)
    assert left == [0, 0, 0]


@pytest.mark.parametrize("answer", [0.6, 255.0, 127.5])
def test_an_image_that_is_returned_unasked_is_asked_about_once(game: Any, answer: float) -> None:
    rows = game.play(attack=lambda model, image, *_, **__: np.full(image.shape, answer))
    assert [row.queries for row in rows] == [1] * 3
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 3


def test_an_image_that_is_returned_and_was_asked_about_costs_nothing(game: Any) -> None:
    def attack(model: Any, image: Any, *_: Any, **__: Any) -> Any:
        model(np.full_like(image, 255))
        return np.full(image.shape, 254.8)

    assert [row.queries for row in game.play(attack=attack)] == [1] * 3


@pytest.mark.parametrize("answer", [np.nan, np.inf, "picture", [[1]]])
def test_it_rejects_an_answer_that_is_no_image(game: Any, answer: Any, capfd: pytest.CaptureFixture[str]) -> None:
    def attack(model: Any, image: Any, *_: Any, **__: Any) -> Any:
        return np.full(image.shape, answer) if isinstance(answer, float) else answer

    rows = game.play(attack=attack)
    assert [(row.outcome, row.reason) for row in rows] == [(Outcome.FAILED, Reason.ATTACK_RAISED)] * 3
    assert "Error" in capfd.readouterr().err


def test_a_function_may_spoil_its_image(game: Any) -> None:
    """It works on a copy, so that distances and other samples are not touched."""

    def attack(model: Any, image: Any, *_: Any, **__: Any) -> Any:
        image[:] = 255
        return image

    rows = game.play(attack=attack)
    assert all(row.distance == row.worst_case for row in rows)


def test_it_hides_the_label_in_the_targeted_track(game: Any) -> None:
    seen: list[tuple[Any, Any, Any]] = []

    def attack(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
        seen.append((label, target, model.label))

    game.play(attack=attack, samples=game.samples(2, target=6), track=TrackName.TARGETED)
    assert seen == [(None, 6, None)] * 2


def test_samples_may_share_an_array(game: Any) -> None:
    """Each image is what it was when its function asked, although the next function changes the array."""
    shared = np.zeros(game.rules.shape, np.uint8)
    labels: list[int] = []

    def attack(model: Any, image: Any, *_: Any, **__: Any) -> Any:
        shared[:] = 26 * (len(starts) + 1)
        starts.append(1)
        labels.append(model(shared))

    starts: list[int] = []
    game.play(attack=attack)
    assert sorted(labels) == [1, 2, 3]


def test_functions_that_catch_everything_do_not_outlive_the_match(game: Any) -> None:
    """The end of the match stops the process, not the functions: a function cannot catch it and go on."""
    after: list[int] = []

    def attack(model: Any, image: Any, *_: Any, **__: Any) -> Any:
        try:
            model(image)
        except BaseException:
            after.append(1)

    def model(images: np.ndarray) -> Any:
        asked.append(1)
        if len(asked) > 1:
            raise SystemExit
        return game.brightness(images)

    asked: list[int] = []
    game.play(attack=attack, model=model)
    assert after == []


def test_threads_of_a_function_each_get_the_label_of_their_own_image(game: Any) -> None:
    wrong: list[float] = []

    def attack(model: Any, image: Any, *_: Any, **__: Any) -> Any:
        def ask(level: int) -> None:
            asked = np.full(image.shape, level, np.uint8)
            if model(asked) != game.brightness(asked[np.newaxis])[0]:
                wrong.append(level)

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(ask, range(0, 256, 8)))

    rows = game.play(attack=attack)
    assert wrong == []
    assert sum(row.queries for row in rows) == 32 * len(rows)
