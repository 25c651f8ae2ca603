"""How many git requests, and files made for strangers, this process serves at once: each holds a thread, and pages need
some too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from core.errors import GauntletError

MAX_CONCURRENT = 8
"""Half of the 16 threads that the site is run with."""

MAX_CONCURRENT_PER_USER = 2
KEPT = 4
"""So many of the turns are for teams that hold none."""

RETRY_SECONDS = 30

ANYBODY = 0
"""Stands for all who do not say who they are: they share the turns of one user."""
TEAM_HAS_ONE = "the site is busy, and your team has a clone or push under way; wait until it has ended, then try again"
STRANGERS = "others fetch what was released just now; try again in half a minute"


class LimitReachedError(GauntletError):
    """No turn is free. Its text tells the caller what to do."""


@dataclass(eq=False)
class Permit:
    """The turn of one request of the user `user` for the team `team`, or its place among those who wait for one."""

    user: int
    team: int | None = None
    drop: Callable[[], None] = field(default=lambda: None)
    """Ends the request, from any thread: another one needs its place."""
    begun: bool = False

    def shares_with(self, other: Permit) -> bool:
        """Whether both are one team's; who is in none stands for itself."""
        return self.user == other.user if self.team is None else self.team == other.team


class ConcurrencyLimiter:
    """Gives out turns: `at_once` in all, `each` per user, and the last `kept` to teams that hold none.

    A request waits for its client before it has a turn. Those that wait hold a thread, so with them, too, there are no
    more than `at_once`, and the one that has waited longest makes room: a connection that is only held open keeps
    nobody out.
    """

    def __init__(self, at_once: int = MAX_CONCURRENT, each: int = MAX_CONCURRENT_PER_USER, kept: int = KEPT) -> None:
        self._at_once, self._each, self._kept = at_once, each, kept
        self._here: list[Permit] = []
        self._lock = threading.Lock()

    def take(self, user: int) -> Callable[[], None]:
        """Take a turn at once; call what is returned, once, to give it back. Raises `LimitReachedError`."""
        turn = Permit(user)
        self.wait(turn)
        try:
            self.begin(turn)
        except BaseException:
            self.leave(turn)
            raise
        return lambda: self.leave(turn)

    def wait(self, turn: Permit) -> None:
        """Let the request wait for its client, if a permit is free; `leave` must follow. Raises `LimitReachedError`."""
        with self._lock:
            self._check(turn)
            gone = self._gives_way(turn)
            if gone is not None:
                self._here.remove(gone)
            self._here.append(turn)
        if gone is not None:
            gone.drop()

    def begin(self, turn: Permit) -> None:
        """Its client is there: from now on the request has a turn. Raises `LimitReachedError`."""
        with self._lock:
            self._check(turn)
            if turn not in self._here:
                raise LimitReachedError("others were quicker; try again in half a minute")
            turn.begun = True

    def leave(self, turn: Permit) -> None:
        """The request is over, or waits no more. Safe to repeat."""
        with self._lock:
            if turn in self._here:
                self._here.remove(turn)

    def _check(self, turn: Permit) -> None:
        begun = [each for each in self._here if each.begun]
        if sum(each.user == turn.user for each in begun) >= self._each:
            raise LimitReachedError(
                STRANGERS
                if turn.user == ANYBODY
                else f"you have {self._each} clones or pushes under way; wait until one has ended, then try again"
            )
        free = self._at_once - len(begun)
        if free <= 0:
            raise LimitReachedError("the site is busy with other clones and pushes; try again in half a minute")
        if free <= self._kept and any(turn.shares_with(each) for each in begun):
            raise LimitReachedError(STRANGERS if turn.user == ANYBODY else TEAM_HAS_ONE)

    def _gives_way(self, turn: Permit) -> Permit | None:
        """The waiting request, if any, in whose place this one comes: one of the same user where it has several."""
        own = [each for each in self._here if each.user == turn.user]
        crowd = own if len(own) >= self._each else self._here if len(self._here) >= self._at_once else []
        return next((each for each in crowd if not each.begun), None)


LIMITER = ConcurrencyLimiter()
"""Those of this process."""
