"""Interleaved measurement: contenders take turns in rounds, so that load on the host affects all of them equally."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bench.sizes import sized

WARM_UP = sized(1, smallest=0)

Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Spread:
    """A median over rounds, with the smallest and the largest value."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def text(self, digits: int = 2, unit: str = "") -> str:
        """Return text like `1.23x (1.10 to 1.40)`."""
        return f"{self.median:.{digits}f}{unit} ({self.low:.{digits}f} to {self.high:.{digits}f})"


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def milliseconds(seconds: Sequence[float]) -> str:
    """Return the spread of some times."""
    return Spread.of([1000 * each for each in seconds]).text(1, " ms")


def take_turns(
    title: str, contenders: Mapping[str, Callable[[], Seen]], rounds: int, *, warm_up: int = WARM_UP
) -> dict[str, list[Seen]]:
    """Run every contender once per round, in alternating order; return the results by contender, round by round.

    The first `warm_up` rounds are discarded. Progress goes to stderr.
    """
    seen: dict[str, list[Seen]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(-warm_up, rounds):
        say(f"{title}: round {turn + 1} of {rounds}" if turn >= 0 else f"{title}: warming up")
        for name in names if turn % 2 == 0 else reversed(names):
            value = contenders[name]()
            if turn >= 0:
                seen[name].append(value)
    return seen


def ratios(first: Sequence[float], second: Sequence[float]) -> Spread:
    """Return `first` divided by `second`, round by round: both were measured within a second or two."""
    return Spread.of([a / b for a, b in zip(first, second, strict=True)])


def say(text: str) -> None:
    """Print progress on stderr."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
