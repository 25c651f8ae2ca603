"""Lock-step: one function for each sample of a piece, run by turns until each of them waits for labels.

Each function runs in a thread of its own, but strictly one at a time and in the order of the samples. A function that
asks lets the next one run, and the last of a round asks the referee for all: a round of n functions changes threads n
times, and one function alone never does.

While they take turns, the threads are scheduled as batch work: otherwise Linux lets the next one interrupt the thread
that wakes it, and it then waits for the interpreter lock, which that thread holds. This halves the time of a turn.
"""

from __future__ import annotations

import os
import threading
import traceback
from typing import Callable, List, Optional, Tuple

from gauntlet import frames
from gauntlet.handle import BudgetExhausted


class Lane:
    """One sample's function. `question` lists the images that it asks about; `labels` and `left` are the answer.

    A function that has ended asks about none.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.question: List[bytes] = []
        self.labels: List[int] = []
        self.left = 0
        self.status = frames.STATUS_DONE
        self.is_batch = False
        self.asking = threading.Lock()
        self.go = threading.Lock()
        self.go.acquire()


class Lanes:
    """The functions of a piece. `exchange` gets those that wait, in order, and fills in `labels` and `left` of each."""

    def __init__(self, exchange: Callable[[List[Lane]], None]) -> None:
        self._exchange = exchange
        self._all: List[Lane] = []
        self._work: List[Callable[[], None]] = []
        self._round: List[Lane] = []
        self._turn = 0
        self._over = threading.Lock()
        self._over.acquire()
        self._stopped_by: Optional[BaseException] = None

    def add(self, lane: Lane, work: Callable[[], None]) -> None:
        """Add the function `work` of a sample. It calls `ask` of these lanes."""
        self._all.append(lane)
        self._work.append(work)

    def run(self) -> None:
        """Run all functions to their ends. Raises what stopped one of them, or the exchange."""
        if not self._all:
            return
        for lane, work in zip(self._all, self._work):
            threading.Thread(target=self._body, args=(lane, work), daemon=True).start()
        self._round = self._all
        self._all[0].go.release()
        self._over.acquire()
        if self._stopped_by is not None:
            raise self._stopped_by

    def ask(self, lane: Lane, images: List[bytes]) -> Tuple[List[int], int]:
        """Wait for the labels of `images`, called by the function of `lane`; return them and the queries left."""
        with lane.asking:  # a function may have threads of its own: each gets the labels of its own images
            lane.question = images
            following = self._next(lane)
            if following is not lane:  # alone, it has its labels already
                if following is not None:
                    following.go.release()
                lane.go.acquire()  # for ever where the match is over: the function does not learn of it
            return lane.labels, lane.left

    def _body(self, lane: Lane, work: Callable[[], None]) -> None:
        if len(self._all) > 1:
            lane.is_batch = _switch_to_batch()
        lane.go.acquire()
        try:
            work()
        except BudgetExhausted:
            pass
        except Exception:
            traceback.print_exc()
            lane.status = frames.STATUS_RAISED
        except BaseException as stop:
            self._stop(stop)
            return
        lane.question = []
        following = self._next(lane)
        if following is not None:
            following.go.release()

    def _next(self, lane: Lane) -> Optional[Lane]:
        """The lane after `lane`, whose turn it is. At the end of a round, get the labels first. None at the end."""
        self._turn += 1
        if self._turn < len(self._round):
            return self._round[self._turn]
        self._round = [lane for lane in self._round if lane.question]
        self._turn = 0
        if not self._round:
            self._over.release()
            return None
        try:
            self._exchange_from(lane)
        except BaseException as stop:
            self._stop(stop)
            return None
        return self._round[0]

    def _exchange_from(self, lane: Lane) -> None:
        if lane.is_batch:
            _schedule(os.SCHED_OTHER)  # the answer of the referee must wake this thread at once
        self._exchange(self._round)
        if lane.is_batch:
            _schedule(os.SCHED_BATCH)

    def _stop(self, stop: BaseException) -> None:
        self._stopped_by = stop
        self._over.release()


def _switch_to_batch() -> bool:
    """Schedule the current thread as batch work. Return False where it keeps its policy.

    That is so outside Linux, in a sandbox that forbids it, and where somebody gave the process another policy.
    """
    try:
        if os.sched_getscheduler(0) != os.SCHED_OTHER:
            return False
        _schedule(os.SCHED_BATCH)
    except (AttributeError, OSError):
        return False
    return True


def _schedule(policy: int) -> None:
    os.sched_setscheduler(0, policy, os.sched_param(0))
