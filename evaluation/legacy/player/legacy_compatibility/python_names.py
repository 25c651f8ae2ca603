"""Names that Python and its standard library had in 2017, and those of Python 2 that programs of then use."""

from __future__ import annotations

import builtins
import collections
import collections.abc
import fractions
import functools
import inspect
import itertools
import math
import sys
import time

_BUILTINS = {
    "xrange": range, "unicode": str, "basestring": str, "long": int, "unichr": chr, "raw_input": input,
    "reduce": functools.reduce,
}  # fmt: skip
"""Functions and types of Python 2. The six that ask for them catch NameError, and then use the same."""


def restore() -> None:
    """Put back `collections.Iterable` and its like, `inspect.getargspec`, `time.clock`, `xrange` and `itertools.izip`.

    Modules that have another name today, such as `Queue`, are files beside this package.
    """
    for name in collections.abc.__all__:
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    for module, old, new in (
        (inspect, "getargspec", _getargspec),
        (time, "clock", time.perf_counter),
        (fractions, "gcd", math.gcd),
        (itertools, "izip", zip),
        (itertools, "imap", map),
        (itertools, "ifilter", filter),
        (itertools, "izip_longest", itertools.zip_longest),
        (sys, "maxint", sys.maxsize),
        *((builtins, name, value) for name, value in _BUILTINS.items()),
    ):
        if not hasattr(module, old):
            setattr(module, old, new)


def _getargspec(function: object) -> tuple:  # type: ignore[type-arg]  # in Python 3.8 `tuple` takes no arguments
    return tuple(inspect.getfullargspec(function)[:4])
