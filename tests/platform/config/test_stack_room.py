"""Calls in a loop do not map the interpreter's stack again, at whatever depth the loop is."""

from __future__ import annotations

import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from config.stack_room import with_stack_room

CALLS = 200
DEPTHS = range(1, 300)


def page_faults(depth: int) -> int:
    """The page faults of calls in a loop at some depth."""
    return page_faults(depth - 1) if depth else page_faults_of_calls()


def page_faults_of_calls() -> int:
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(CALLS):
        nothing()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def nothing() -> None:
    """Return at once."""


def most_page_faults(called: Callable[[int], int]) -> int:
    """In a thread of its own: a test has room on the stack of its process."""
    with ThreadPoolExecutor(1) as thread:
        return max(thread.map(called, DEPTHS))


@with_stack_room
def with_room(depth: int) -> int:
    return page_faults(depth)


def test_at_some_depth_each_call_maps_the_stack_and_with_room_none_does() -> None:
    assert most_page_faults(page_faults) >= CALLS
    assert most_page_faults(with_room) < CALLS / 4
