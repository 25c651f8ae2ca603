"""Names that the module `collections` had until Python 3.10, and `inspect`, `time` and `fractions` had then."""

from __future__ import annotations

import collections
import collections.abc
import fractions
import inspect
import math
import time


def restore() -> None:
    """Put back `collections.Iterable` and its like, `inspect.getargspec`, `time.clock` and `fractions.gcd`."""
    for name in collections.abc.__all__:
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    for module, old, new in (
        (inspect, "getargspec", _getargspec),
        (time, "clock", time.perf_counter),
        (fractions, "gcd", math.gcd),
    ):
        if not hasattr(module, old):
            setattr(module, old, new)


def _getargspec(function: object) -> tuple:  # type: ignore[type-arg]  # in Python 3.8 `tuple` takes no arguments
    return tuple(inspect.getfullargspec(function)[:4])
