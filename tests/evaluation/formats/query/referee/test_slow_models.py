"""The model's time limit: the clock decides, without the time that a busy host took."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import TrackName
from evaluation.domain.processor_use import HostLoad, ProcessorUse, ThreadUse
from evaluation.formats.query.referee.match_players import Model, PlayerFailedError
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from evaluation.protocol import model_time
from gauntlet import serve_model

GRACE = 0.05
PIXELS = bytes(192)
NOTHING = ProcessorUse(0.0)

Meter = Callable[[], ProcessorUse | None]


class Metered(InProcessPlayer):
    """A player in a thread of the test; `meter` says what it has used."""

    def __init__(self, serve: Callable[[socket.socket], None], meter: Meter) -> None:
        super().__init__(serve)
        self._meter = meter

    def processor_use(self) -> ProcessorUse | None:
        return self._meter()


@pytest.fixture
def make(game: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", GRACE)
    rules = replace(game.rules, model_seconds_per_image=0.01)

    def predict(images: np.ndarray) -> Any:
        time.sleep(0.15)
        return np.zeros(len(images), int)

    def build(meter: Meter) -> Model:
        connection = Metered(lambda connected: serve_model(predict, connected=connected), meter)
        return Model(connection, TrackName.UNTARGETED, rules, 1.0)

    return build


def shares(computed: float, waited: float) -> Meter:
    """A player whose only thread computes and waits for these shares of the time."""

    def meter() -> ProcessorUse:
        now = time.monotonic()
        return ProcessorUse(now * computed, {1: ThreadUse(now * computed, now * waited)})

    return meter


def test_a_model_that_waits_for_a_processor_is_not_slow(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers take longer than its limit, time and again."""
    monkeypatch.setattr(model_time, "CLOCK_FACTOR", 10_000.0)  # however busy the host of the test is
    model = make(shares(0.001, 1.0))
    began = time.monotonic()
    assert [model.classify(PIXELS, 1) for _ in range(3)] == [[0]] * 3
    assert model.seconds_per_image < (time.monotonic() - began) / 30
    model.close()


@pytest.mark.parametrize("meter", [shares(1.0, 0.0), lambda: None])
def test_a_model_that_computes_all_the_time_is_slow_by_the_clock(make: Any, meter: Meter) -> None:
    """So is one of which the host cannot tell."""
    model = make(meter)
    with pytest.raises(PlayerFailedError) as raised:
        model.classify(PIXELS, 1)
    assert raised.value.failure.reason is Reason.TOO_SLOW
    assert "idle" not in raised.value.failure.detail
    model.close()


@pytest.mark.parametrize(
    "meter",
    [
        lambda: NOTHING,
        lambda: replace(NOTHING, host=HostLoad(slowdown=7.0)),
        shares(0.001, 0.1),
    ],
    ids=["quiet", "busy", "held up for a tenth"],
)
def test_a_model_that_sleeps_is_slow(make: Any, meter: Meter) -> None:
    """On a busy host as well."""
    model = make(meter)
    with pytest.raises(PlayerFailedError) as raised:
        model.classify(PIXELS, 1)
    assert raised.value.failure.reason is Reason.TOO_SLOW
    assert "idle for most of the time" in raised.value.failure.detail
    model.close()


def test_a_model_within_its_limit_is_not_measured(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading takes as long as a query: the host is asked at the start of an instance, and for its mean at the end."""
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", 600.0)
    readings = []

    def meter() -> ProcessorUse:
        readings.append(NOTHING)
        return NOTHING

    model = make(meter)
    model.channel()
    before = len(readings)
    assert [model.classify(PIXELS, 1) for _ in range(3)] == [[0]] * 3
    assert len(readings) == before
    assert model.seconds_per_image > 0.15
    assert len(readings) == before + 1
    model.close()


def test_a_model_that_waits_for_ever_is_stopped_by_the_clock(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its host may be busy: beyond ten times its limit and three times its reserve that is no longer its concern."""
    monkeypatch.setattr(model_time, "CLOCK_FACTOR", 2.0)
    monkeypatch.setattr(model_time, "CLOCK_GRACE_FACTOR", 1.0)
    model = make(shares(0.1, 0.9))
    with pytest.raises(PlayerFailedError) as raised:
        model.classify(PIXELS, 1)
    assert raised.value.failure.reason is Reason.TOO_SLOW
    assert "idle" not in raised.value.failure.detail
    model.close()
