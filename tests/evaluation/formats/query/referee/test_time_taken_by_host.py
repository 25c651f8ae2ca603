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
from evaluation.formats.query.referee import match_players
from evaluation.formats.query.referee.match_players import Model, PlayerFailedError
from evaluation.formats.query.referee.time_taken_by_host import TimeTakenByHost
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
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
    monkeypatch.setattr(match_players, "MODEL_GRACE_SECONDS", GRACE)
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


def taken(asked: float, use: ProcessorUse, before: ProcessorUse = NOTHING) -> float:
    """What the host took while an answer was awaited for `asked` seconds."""
    readings = iter([before, use])
    measured = TimeTakenByHost(lambda: next(readings))
    measured.add(asked)
    return measured.take()


def one(computed: float, waited: float, load: HostLoad | None = None) -> ProcessorUse:
    """The use of a player with one thread."""
    return ProcessorUse(computed, {1: ThreadUse(computed, waited)}, host=load or HostLoad())


def test_a_model_that_waits_for_a_processor_is_not_slow(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers take longer than its limit, time and again."""
    monkeypatch.setattr(match_players, "CLOCK_FACTOR", 10_000.0)  # however busy the host of the test is
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
    monkeypatch.setattr(match_players, "MODEL_GRACE_SECONDS", 600.0)
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
    monkeypatch.setattr(match_players, "CLOCK_FACTOR", 2.0)
    monkeypatch.setattr(match_players, "CLOCK_GRACE_FACTOR", 1.0)
    model = make(shares(0.1, 0.9))
    with pytest.raises(PlayerFailedError) as raised:
        model.classify(PIXELS, 1)
    assert raised.value.failure.reason is Reason.TOO_SLOW
    assert "idle" not in raised.value.failure.detail
    model.close()


def test_waiting_for_a_processor_is_taken_and_sleeping_is_not() -> None:
    assert taken(5.0, one(1.0, 3.0)) == 3.0
    assert taken(5.0, one(1.0, 0.0)) == 0.0
    assert taken(5.0, one(4.0, 3.0), before=one(3.0, 1.0)) == 2.0


def test_no_more_is_taken_than_the_player_was_asked_without_computing() -> None:
    """What it computed between two questions, or several threads at a time, is its own time."""
    assert taken(3.0, one(1.0, 5.0)) == 2.0
    assert taken(1.0, one(4.0, 5.0)) == 0.0


def test_a_wait_that_ends_after_a_reading_is_taken_as_a_whole() -> None:
    """Only then does the host tell of it. Idle time from before the last reading stays the player's own."""
    readings = iter([NOTHING, one(0.0, 0.0), one(0.0, 0.0), one(0.5, 3.5), one(0.5, 9.5)])
    measured = TimeTakenByHost(lambda: next(readings))
    seen = []
    for asked in (4.0, 2.0, 2.0, 1.0):
        measured.add(asked)
        seen.append(measured.take())
    assert seen == [0.0, 0.0, 3.5, 1.0]
    assert measured.mostly_idle is False


def test_threads_that_make_each_other_wait_do_not_pay_for_sleep_before() -> None:
    eight = {number: ThreadUse(1.25, 8.75) for number in range(8)}
    readings = iter([NOTHING, NOTHING, ProcessorUse(10.0, eight)])
    measured = TimeTakenByHost(lambda: next(readings))
    measured.add(10.0)
    assert measured.take() == 0.0
    measured.add(10.0)
    assert measured.take() == 0.0


def test_threads_that_wait_at_the_same_time_do_not_add_up() -> None:
    threads = {number: ThreadUse(0.1, 0.5) for number in range(8)}
    assert taken(10.0, ProcessorUse(0.8, threads)) == 0.5


def test_threads_that_take_turns_waited_one_after_the_other() -> None:
    """On a busy host, each of two stages waits; a thread that did not wait gains nothing by what it computed."""
    stages = {1: ThreadUse(1.0, 3.0), 2: ThreadUse(1.0, 2.5), 3: ThreadUse(1.0, 0.0)}
    assert taken(10.0, ProcessorUse(3.0, stages, host=HostLoad(slowdown=4.0))) == 5.5


def test_threads_that_have_ended_waited_as_much_as_the_host_is_busy() -> None:
    """Their own figures are lost; of what they computed the host still knows."""
    ended = ProcessorUse(1.0, {1: ThreadUse(0.0, 0.25)}, host=HostLoad(slowdown=4.0))
    assert taken(10.0, ended) == 3.25
    assert taken(10.0, replace(ended, host=HostLoad())) == 0.25


def test_a_new_thread_may_get_the_number_of_one_that_ended() -> None:
    assert taken(10.0, ProcessorUse(6.0, {1: ThreadUse(1.0, 2.0)}), before=one(5.0, 9.0)) == 2.0


def test_the_share_of_other_virtual_machines_is_taken() -> None:
    before = one(0.0, 0.0, HostLoad(busy=100.0, stolen=10.0))
    assert taken(5.0, one(1.0, 0.0, HostLoad(busy=104.0, stolen=12.0)), before) == 0.5


def test_the_waiting_of_the_referee_is_taken_whatever_the_player_computes() -> None:
    """But not that of another thread, which may have waited before it asked."""
    before, now = {7: ThreadUse(1.0, 1.0)}, {7: ThreadUse(1.0, 4.0)}
    assert taken(5.0, replace(NOTHING, asking=now), replace(NOTHING, asking=before)) == 3.0
    assert taken(5.0, replace(NOTHING, asking=now), replace(NOTHING, asking={8: ThreadUse(0.0, 0.0)})) == 0.0


@pytest.mark.parametrize("use", [NOTHING, None])
def test_the_time_of_a_reading_is_taken(use: ProcessorUse | None) -> None:
    """An engine may answer late, or not at all, while the answer of the player waits to be read."""
    slow = [False]

    def read() -> ProcessorUse | None:
        time.sleep(0.05 if slow[0] else 0.0)
        return use

    measured = TimeTakenByHost(read)
    slow[0] = True
    assert measured.take(time.monotonic()) >= 0.05


def test_time_is_taken_once() -> None:
    readings = iter([NOTHING, one(1.0, 4.0), one(1.0, 4.0)])
    measured = TimeTakenByHost(lambda: next(readings))
    measured.add(5.0)
    assert [measured.take(), measured.take()] == [4.0, 0.0]


def test_helpers_whose_time_is_lost_give_a_model_no_more_time_than_it_was_asked() -> None:
    """The host's figure shrinks where processes end that nobody waited for."""
    assert taken(1.0, one(1.0, 5.0), before=ProcessorUse(5.0, {1: ThreadUse(1.0, 3.0)})) == 1.0


def test_a_host_that_could_not_tell_at_first_is_believed_from_then_on() -> None:
    readings = iter([None, one(1.0, 3.0), one(2.0, 7.0)])
    measured = TimeTakenByHost(lambda: next(readings))
    measured.add(5.0)
    assert measured.take() == 0.0
    measured.add(5.0)
    assert measured.take() == 4.0
