"""The time that a host takes from a player: what its threads, and the referee's, waited for a processor."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from evaluation.domain.processor_use import HostLoad, ProcessorUse, ThreadUse
from evaluation.protocol.time_taken_by_host import TimeTakenByHost

NOTHING = ProcessorUse(0.0)


def taken(asked: float, use: ProcessorUse, before: ProcessorUse = NOTHING) -> float:
    """What the host took while an answer was awaited for `asked` seconds."""
    readings = iter([before, use])
    measured = TimeTakenByHost(lambda: next(readings))
    measured.add(asked)
    return measured.take()


def one(computed: float, waited: float, load: HostLoad | None = None) -> ProcessorUse:
    """The use of a player with one thread."""
    return ProcessorUse(computed, {1: ThreadUse(computed, waited)}, host=load or HostLoad())


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
