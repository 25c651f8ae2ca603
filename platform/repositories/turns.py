"""How many git requests, and files made for strangers, this process serves at once: each holds a thread, and pages need
some too."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial

from core.errors import GauntletError

AT_ONCE = 8
"""Half of the 16 threads that the site is run with."""

AT_ONCE_EACH = 2
RETRY_SECONDS = 30

ANYBODY = 0
"""Stands for all who do not say who they are: they share the turns of one user."""


class Busy(GauntletError):  # noqa: N818 - says what is so
    """No turn is free. Its text tells the caller what to do."""


class Turns:
    """Gives out turns, `at_once` in all and `each` per user."""

    def __init__(self, at_once: int = AT_ONCE, each: int = AT_ONCE_EACH) -> None:
        self._at_once, self._each = at_once, each
        self._taken: Counter[int] = Counter()
        self._lock = threading.Lock()

    def take(self, user: int) -> Callable[[], None]:
        """Take a turn for the user of this number or `ANYBODY`; call what is returned, once, to give it back.

        Raises `Busy`.
        """
        with self._lock:
            if self._taken[user] >= self._each:
                raise Busy(
                    "others fetch what was released just now; try again in half a minute"
                    if user == ANYBODY
                    else f"you have {self._each} clones or pushes under way; wait until one has ended, then try again"
                )
            if self._taken.total() >= self._at_once:
                raise Busy("the site is busy with other clones and pushes; try again in half a minute")
            self._taken[user] += 1
        return partial(self._give_back, user)

    def _give_back(self, user: int) -> None:
        with self._lock:
            self._taken[user] -= 1
            self._taken += Counter()  # forgets those who hold none


TURNS = Turns()
"""Those of this process."""
