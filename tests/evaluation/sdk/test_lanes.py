"""Lock-step: which thread runs when, and how the kernel schedules it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial

import pytest

from gauntlet.lanes import Lane, Lanes


def play(count: int, work: Callable[[Lanes, Lane], None]) -> list[tuple[list[int], int]]:
    """Run `work` for `count` samples; return the samples of each question and the policy of the thread that asks it."""
    asked: list[tuple[list[int], int]] = []

    def exchange(waiting: list[Lane]) -> None:
        asked.append(([lane.number for lane in waiting], os.sched_getscheduler(0)))
        for lane in waiting:
            lane.labels, lane.left = [0] * len(lane.question), 1

    lanes = Lanes(exchange)
    for number in range(count):
        lane = Lane(number)
        lanes.add(lane, partial(work, lanes, lane))
    lanes.run()
    return asked


def test_every_lane_is_asked_once_in_each_round_until_it_is_done() -> None:
    def ask_twice_and_the_first_three_times(lanes: Lanes, lane: Lane) -> None:
        for _ in range(3 if lane.number == 0 else 2):
            assert lanes.ask(lane, [b"image"]) == ([0], 1)

    rounds = [numbers for numbers, _ in play(3, ask_twice_and_the_first_three_times)]
    assert rounds == [[0, 1, 2], [0, 1, 2], [0]]


@pytest.mark.parametrize(("count", "policy"), [(1, os.SCHED_OTHER), (3, os.SCHED_BATCH)])
def test_threads_that_take_turns_do_not_interrupt_each_other_and_the_answer_wakes_its_thread_at_once(
    count: int, policy: int
) -> None:
    seen: list[int] = []

    def ask(lanes: Lanes, lane: Lane) -> None:
        for _ in range(2):
            lanes.ask(lane, [b"image"])
            seen.append(os.sched_getscheduler(0))

    asked = play(count, ask)
    assert seen == [policy] * 2 * count
    assert {policy for _, policy in asked} == {os.SCHED_OTHER}


def test_another_policy_of_the_process_is_kept() -> None:
    seen: list[int] = []

    def ask(lanes: Lanes, lane: Lane) -> None:
        lanes.ask(lane, [b"image"])
        seen.append(os.sched_getscheduler(0))

    def idle() -> None:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # of this thread alone, and of those it starts
        play(2, ask)

    thread = threading.Thread(target=idle)
    thread.start()
    thread.join()
    assert seen == [os.SCHED_IDLE] * 2
