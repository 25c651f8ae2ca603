"""Limits on concurrent git requests: each holds a thread, which pages need too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings

from core.errors import GauntletError

RETRY_SECONDS = 30

ANYBODY = 0
"""User number of all anonymous requests: together they have the limit of one user."""
TEAM_HAS_ONE = "the site is busy, and your team has a clone or push in progress; wait for it to finish, then try again"
ANONYMOUS_BUSY = "too many downloads of released files at the moment; try again in half a minute"


class LimitReachedError(GauntletError):
    """No permit is free. The message tells the caller what to do."""


@dataclass(eq=False)
class Permit:
    """The permit of one request of the user `user` for the team `team`, waiting or started."""

    user: int
    team: int | None = None
    drop: Callable[[], None] = field(default=lambda: None)
    """Ends the request, from any thread, when another one needs its place."""
    started: bool = False

    def shares_with(self, other: Permit) -> bool:
        """Return True if both belong to the same team; a user without a team counts as a team."""
        return self.user == other.user if self.team is None else self.team == other.team


class ConcurrencyLimiter:
    """Limits concurrent requests: `total` in all, `per_user` each, and the last `reserved` for teams that hold none.

    A request waits for its client before it starts. Waiting requests hold a thread too, so there are at most `total`
    of them and the started ones; the oldest waiting one is dropped for a new one. A connection that is only held open
    therefore blocks nobody.
    """

    def __init__(self, *, total: int, per_user: int, reserved: int) -> None:
        self._total, self._per_user, self._reserved = total, per_user, reserved
        self._permits: list[Permit] = []
        self._lock = threading.Lock()

    def wait(self, permit: Permit) -> None:
        """Admit a request that waits for its client; `release` must follow. Raise `LimitReachedError`."""
        with self._lock:
            self._check(permit)
            dropped = self._to_drop(permit)
            if dropped is not None:
                self._permits.remove(dropped)
            self._permits.append(permit)
        if dropped is not None:
            dropped.drop()

    def start(self, permit: Permit) -> None:
        """Start a waiting request whose client has sent its first bytes. Raise `LimitReachedError`."""
        with self._lock:
            self._check(permit)
            if permit not in self._permits:
                raise LimitReachedError("the site is busy; try again in half a minute")
            permit.started = True

    def release(self, permit: Permit) -> None:
        """Release a permit, started or waiting. Safe to repeat."""
        with self._lock:
            if permit in self._permits:
                self._permits.remove(permit)

    def _check(self, permit: Permit) -> None:
        started = [each for each in self._permits if each.started]
        if sum(each.user == permit.user for each in started) >= self._per_user:
            raise LimitReachedError(
                ANONYMOUS_BUSY
                if permit.user == ANYBODY
                else f"you have {self._per_user} clones or pushes in progress; wait for one to finish, then try again"
            )
        free = self._total - len(started)
        if free <= 0:
            raise LimitReachedError("the site is busy with other clones and pushes; try again in half a minute")
        if free <= self._reserved and any(permit.shares_with(each) for each in started):
            raise LimitReachedError(ANONYMOUS_BUSY if permit.user == ANYBODY else TEAM_HAS_ONE)

    def _to_drop(self, permit: Permit) -> Permit | None:
        """Return the oldest waiting permit that `permit` replaces, of the same user if that user has several."""
        own = [each for each in self._permits if each.user == permit.user]
        crowd = own if len(own) >= self._per_user else self._permits if len(self._permits) >= self._total else []
        return next((each for each in crowd if not each.started), None)


LIMITER = ConcurrencyLimiter(
    total=settings.MAX_GIT_REQUESTS,
    per_user=settings.MAX_GIT_REQUESTS_PER_USER,
    reserved=settings.MAX_GIT_REQUESTS // 2,
)
"""The limiter of this process: half of its permits are for teams that hold none."""
