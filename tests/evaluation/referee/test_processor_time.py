"""The model's time limit: processor time decides, and the clock only beyond a multiple of it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.domain.players import Track
from evaluation.domain.results import Reason
from evaluation.referee import players
from evaluation.referee.players import Model, PlayerFailedError
from evaluation.referee.processor_time import WaitingTime
from evaluation.runner.in_process_player import InProcessPlayer
from gauntlet import serve_model

GRACE = 0.05
PIXELS = bytes(192)


class Metered(InProcessPlayer):
    """A player in a thread of the test; `meter` says how much it has computed."""

    def __init__(self, serve: Callable[[socket.socket], None], meter: Callable[[], float | None]) -> None:
        super().__init__(serve)
        self._meter = meter

    def processor_seconds(self) -> float | None:
        return self._meter()


@pytest.fixture
def make(game: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(players, "MODEL_GRACE_SECONDS", GRACE)
    monkeypatch.setattr(players, "WALL_FACTOR", 40.0)  # a busy host makes the sleep longer
    rules = replace(game.rules, model_seconds_per_image=0.01)

    def predict(images: np.ndarray) -> Any:
        time.sleep(0.15)
        return np.zeros(len(images), int)

    def build(meter: Callable[[], float | None]) -> Model:
        connection = Metered(lambda connected: serve_model(predict, connected=connected), meter)
        return Model(connection, Track.UNTARGETED, rules, 1.0)

    return build


def test_it_works(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that waits for a processor is not slow: its answers take longer than its limit, time and again."""
    monkeypatch.setattr(players, "WALL_FACTOR", 1000.0)  # however busy the host of the test is
    model = make(lambda: 0.0)
    assert [model.classify(PIXELS, 1) for _ in range(3)] == [[0]] * 3
    assert model.seconds_per_image == pytest.approx(0.0, abs=0.01)  # less than a tenth of what passed by the clock
    model.close()


@pytest.mark.parametrize("meter", [time.monotonic, lambda: None])
def test_a_model_that_computes_all_the_time_is_slow_by_the_clock(make: Any, meter: Callable[[], float | None]) -> None:
    """So is one whose processor time the host cannot tell."""
    model = make(meter)
    with pytest.raises(PlayerFailedError) as raised:
        model.classify(PIXELS, 1)
    assert raised.value.failure.reason is Reason.TOO_SLOW
    assert "not computing" not in raised.value.failure.detail
    model.close()


def test_a_model_that_sleeps_is_stopped_by_the_clock(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "WALL_FACTOR", 2.0)
    monkeypatch.setattr(players, "WALL_GRACE_FACTOR", 1.0)
    model = make(lambda: 0.0)
    with pytest.raises(PlayerFailedError) as raised:
        model.classify(PIXELS, 1)
    assert raised.value.failure.reason is Reason.TOO_SLOW
    assert "not computing" in raised.value.failure.detail
    model.close()


def test_time_without_a_question_is_no_waiting_time() -> None:
    computed = [1.0]
    waiting = WaitingTime(lambda: computed[0])
    waiting.add(5.0)
    computed[0] += 2.0
    assert waiting.take() == 3.0
    computed[0] += 4.0  # between two questions
    waiting.add(5.0)
    assert waiting.take() == 1.0
    computed[0] += 4.0
    waiting.add(1.0)
    assert waiting.take() == 0.0


def test_waiting_time_is_taken_once() -> None:
    waiting = WaitingTime(lambda: 0.0)
    waiting.add(5.0)
    assert [waiting.take(), waiting.take()] == [5.0, 0.0]


def test_helpers_whose_time_is_lost_give_a_model_no_more_time_than_it_was_asked() -> None:
    readings = iter([5.0, 1.0, 1.5])
    waiting = WaitingTime(lambda: next(readings))
    waiting.add(2.0)
    assert waiting.take() == 2.0
    waiting.add(2.0)
    assert waiting.take() == 1.5


def test_a_host_that_could_not_tell_at_first_is_believed_from_then_on() -> None:
    readings = iter([None, 1.0, 2.0])
    waiting = WaitingTime(lambda: next(readings))
    waiting.add(5.0)
    assert waiting.take() == 0.0
    waiting.add(5.0)
    assert waiting.take() == 4.0
