"""Late tasks of the schedule: a small scorer that takes real messages, one after the other, by a clock of the test."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from queue import Empty

import pytest
from celery import Celery
from celery.worker.request import Request
from django.core.cache import cache

from config.coalescing_task import CoalescingTask
from tests.platform.conftest import FakeClock

INTERVAL = 10.0
NAMES = tuple("abcdefgh")


class SlowScorer:
    """A worker and a beat whose tasks take `seconds` each."""

    def __init__(self, the_clock: FakeClock, seconds: float) -> None:
        self.seconds = seconds
        self.ran: list[tuple[str, float]] = []
        self._clock = the_clock
        self._began = the_clock.at
        self.app = Celery("slow", task_cls=CoalescingTask, broker="memory://", set_as_current=False)
        self.app.conf.beat_schedule = {name: {"task": name, "schedule": INTERVAL} for name in NAMES}
        for name in (*NAMES, "of others"):
            self.app.task(name=name, shared=False)(self._task(name))
        self._connection = self.app.connection()
        self._queue = self._connection.SimpleQueue(f"slow-{id(self)}")
        self._beats = 0

    @property
    def now(self) -> float:
        return (self._clock.at - self._began).total_seconds()

    def send(self, name: str, **keys: int) -> None:
        self.app.send_task(name, kwargs=keys, queue=self._queue.queue.name, connection=self._connection)

    def send_due(self) -> None:
        """Send what beat has sent by now."""
        while self._beats * INTERVAL <= self.now:
            at, self._clock.at = self._clock.at, self._began
            self._clock.forward(seconds=self._beats * INTERVAL)
            for name in NAMES:
                self.send(name)
            self._clock.at = at
            self._beats += 1

    def take(self) -> bool:
        """Handle one message; return False if there is none."""
        try:
            message = self._queue.get_nowait()
        except Empty:
            return False
        message.ack()
        Request(message, app=self.app, task=self.app.tasks[message.headers["task"]]).execute()
        return True

    def work(self, *, until: float) -> None:
        """Let beat and the worker go on until that time."""
        while self.now < until:
            self.send_due()
            if not self.take():
                self._clock.forward(seconds=1)

    def waiting(self) -> int:
        return int(self._queue.qsize())

    def gaps(self, name: str) -> list[float]:
        times = [at for each, at in self.ran if each == name]
        return [later - earlier for earlier, later in pairwise(times)]

    def _task(self, name: str) -> Callable[..., None]:
        def run(**keys: int) -> None:
            self.ran.append((name, self.now))
            self._clock.forward(seconds=self.seconds)

        return run


@pytest.fixture
def scorer(the_clock: FakeClock) -> SlowScorer:
    cache.clear()
    return SlowScorer(the_clock, 0.1)


def test_on_a_fast_host_every_task_runs_at_its_interval(scorer: SlowScorer) -> None:
    scorer.work(until=95)
    assert [name for name, _ in scorer.ran] == [*NAMES] * 10


def test_on_a_host_that_is_too_slow_every_task_runs_in_turn_and_no_queue_grows(scorer: SlowScorer) -> None:
    scorer.seconds = 5.0  # eight tasks take 40 s, and beat sends them every 10 s
    waiting = []
    for minute in range(1, 11):
        scorer.work(until=60.0 * minute)
        waiting.append(scorer.waiting())
    for name in NAMES:
        assert max(scorer.gaps(name)) <= 80, name
    assert max(waiting) <= 8 * len(NAMES)


def test_messages_that_gathered_are_one_run(scorer: SlowScorer, the_clock: FakeClock) -> None:
    scorer.send_due()
    the_clock.forward(minutes=10)
    scorer.send_due()
    assert scorer.waiting() == 61 * len(NAMES)
    the_clock.forward(seconds=1)
    while scorer.take():
        pass
    assert sorted(name for name, _ in scorer.ran) == sorted(NAMES)


def test_a_message_that_was_sent_while_the_task_ran_is_a_run(scorer: SlowScorer) -> None:
    """The run may have passed what the message is about."""
    scorer.send("a")
    scorer.take()
    scorer.send("a")
    scorer.take()
    assert [name for name, _ in scorer.ran] == ["a", "a"]


def test_messages_with_keys_and_of_tasks_outside_the_schedule_are_each_a_run(scorer: SlowScorer) -> None:
    for _ in range(2):
        scorer.send("of others")
        scorer.send("a", round=1)
    while scorer.take():
        pass
    assert [name for name, _ in scorer.ran] == ["of others", "a"] * 2


def test_a_host_whose_clock_is_set_back_still_sweeps(scorer: SlowScorer, the_clock: FakeClock) -> None:
    scorer.send("a")
    scorer.take()
    the_clock.forward(hours=-1)
    for _ in range(3):
        the_clock.forward(seconds=10)
        scorer.send("a")
        scorer.take()
    assert [name for name, _ in scorer.ran] == ["a"] * 4


def test_a_scorer_whose_clock_is_ahead_still_sweeps(scorer: SlowScorer, the_clock: FakeClock) -> None:
    for _ in range(30):
        scorer.send_due()
        the_clock.forward(hours=1)
        while scorer.take():
            pass
        the_clock.forward(hours=-1, seconds=INTERVAL)
    for name in NAMES:
        assert max(scorer.gaps(name)) <= 70
        assert scorer.gaps(name)


def test_without_the_cache_every_message_is_a_run(scorer: SlowScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise ConnectionError("the cache is away")

    scorer.send("a")
    scorer.send("a")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "get", gone)
        patch.setattr(cache, "set", gone)
        while scorer.take():
            pass
    assert [name for name, _ in scorer.ran] == ["a", "a"]
