"""`pickle` under its name in Python 2, whose pickles hold text and arrays as bytes."""

from __future__ import annotations

import pickle
from pickle import HIGHEST_PROTOCOL, PickleError, Pickler, PicklingError, UnpicklingError, dump, dumps
from typing import IO, Any

__all__ = [
    "HIGHEST_PROTOCOL", "PickleError", "Pickler", "PicklingError", "UnpicklingError", "dump", "dumps", "load", "loads",
]  # fmt: skip

_ENCODING = "latin1"  # takes every byte: the default, ASCII, fails at arrays


def load(file: IO[bytes]) -> Any:
    """Return the object in an open file."""
    return pickle.load(file, encoding=_ENCODING)


def loads(data: bytes) -> Any:
    """Return the object in `data`."""
    return pickle.loads(data, encoding=_ENCODING)
