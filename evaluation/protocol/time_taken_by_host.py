"""Time that a busy host took from a player while its answer was awaited."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from evaluation.domain.processor_use import ProcessorUse, ThreadUse


class TimeTakenByHost:
    """The time in which an answer of one running player was awaited and the host let it, or the referee, wait."""

    def __init__(self, read: Callable[[], ProcessorUse | None]) -> None:
        """Begin now. `read` returns the player's use of the processors so far, None where the host cannot tell."""
        self._read = read
        self._asked = 0.0
        self._before = read()
        self._unexplained = 0.0
        self._idle = 0.0
        self._total = 0.0

    def add(self, seconds: float) -> None:
        """Count `seconds` in which an answer was awaited."""
        self._asked += seconds

    def take(self, asked_since: float | None = None) -> float:
        """Return the seconds that the host took since the last call. What the player slept is not among them.

        `asked_since` is the time (`time.monotonic()`) of a question that is open, as far as it was not added before.
        The result is only the time of this reading where the host cannot tell: then the time by the clock counts.
        """
        reading_since = time.monotonic()
        now = self._read()
        reading = 0.0
        if asked_since is not None:  # an engine may take seconds to answer, in which the referee cannot read the labels
            self._asked += time.monotonic() - asked_since
            reading = time.monotonic() - reading_since
        if now is None:
            self._asked -= reading
            return reading
        asked, before = self._asked, self._before
        self._asked, self._before = 0.0, now
        if before is None:  # the host could not tell so far, because an engine did not answer: begin here
            return reading
        computed = computed_since(before, now)
        room = max(0.0, asked - computed)
        waited = taken_since(before, now) + reading
        # a host tells of a wait when it has ended: part of it may lie before the last reading, which saw it as idle
        # time. What the player's own threads made each other wait does not
        earlier = max(0.0, waited - room - computed_beside(before, now))
        taken = min(waited, room) + min(earlier, self._unexplained)
        self._unexplained = max(0.0, room - taken)
        self._idle += room - taken
        self._total += asked
        return taken

    @property
    def mostly_idle(self) -> bool:
        """True if the player neither computed nor waited for a processor in most of the time in which it was asked."""
        return self._idle > self._total / 2


def computed_since(before: ProcessorUse, now: ProcessorUse) -> float:
    """Return the seconds that the player computed between two readings, at least.

    The host's figure has a resolution of hundredths, and shrinks where processes end that nobody waited for.
    """
    seen = sum(use.computed for use in _since(before.threads, now.threads))
    return max(0.0, now.computed - before.computed, seen)


def computed_beside(before: ProcessorUse, now: ProcessorUse) -> float:
    """Return the seconds that the player computed in other threads than the one that waited longest."""
    longest = max(_since(before.threads, now.threads), key=lambda use: use.waited, default=ThreadUse(0.0, 0.0))
    return max(0.0, computed_since(before, now) - longest.computed)


def taken_since(before: ProcessorUse, now: ProcessorUse) -> float:
    """Return the seconds that the host took from the player between two readings, whether or not it was asked.

    It took what the thread that waited longest for a processor has waited: threads that wait at the same time do not
    add up. The others may have computed before or after, and waited as much as the host is busy now, but no more than
    they did; those that have ended no longer say. Then there is the share that other virtual machines took, and what
    the referee itself waited.
    """
    computed = computed_since(before, now)
    *others, longest = sorted(_since(before.threads, now.threads), key=lambda use: use.waited) or [ThreadUse(0.0, 0.0)]
    slower = now.host.slowdown - 1
    ended = max(0.0, computed - longest.computed - sum(use.computed for use in others))
    rest = sum(min(use.waited, use.computed * slower) for use in others) + ended * slower
    busy = now.host.busy - before.host.busy
    stolen = computed * max(0.0, now.host.stolen - before.host.stolen) / busy if busy > 0 else 0.0
    same = before.asking.keys() == now.asking.keys()  # another thread may have waited before it asked
    asking = sum(use.waited for use in _since(before.asking, now.asking)) if same else 0.0
    return longest.waited + rest + stolen + asking


def _since(before: Mapping[int, ThreadUse], now: Mapping[int, ThreadUse]) -> list[ThreadUse]:
    """Return what each thread of `now` used since `before`; a new one, or a new one of an old number, in all."""
    uses = []
    for number, use in now.items():
        old = before.get(number)
        if old is None or old.computed > use.computed:
            uses.append(use)
        else:
            uses.append(ThreadUse(use.computed - old.computed, max(0.0, use.waited - old.waited)))
    return uses
