"""Names of numpy 1.14, and how it read files and promoted types."""

from __future__ import annotations

import builtins
import functools
import sys
from types import ModuleType
from typing import Any

_TYPES = ("int", "float", "bool", "complex", "object", "str")
_FUNCTIONS = {"product": "prod", "cumproduct": "cumprod", "alltrue": "all", "sometrue": "any", "in1d": "isin"}


def restore(numpy: ModuleType) -> None:
    """Put back `np.int` and its like, old names of functions, and `np.load` of pickled arrays.

    Print a line where numpy promotes as version 2 does: a float32 array times a float64 scalar is float64 there
    (NEP 50), which the check of 2018 rejects.
    """
    for name in _TYPES:
        if name not in vars(numpy):
            setattr(numpy, name, getattr(builtins, name))
    for name, other in (("long", builtins.int), ("unicode", builtins.str), ("asscalar", _asscalar)):
        if name not in vars(numpy):
            setattr(numpy, name, other)
    for old, new in _FUNCTIONS.items():
        if old not in vars(numpy):
            setattr(numpy, old, getattr(numpy, new))
    numpy.load = loads_pickles(numpy.load)  # type: ignore[attr-defined]
    if promotes_like_version_2(numpy):
        print("numpy {}: float32 * float64 is float64; 2018 had float32".format(numpy.__version__), file=sys.stderr)


def promotes_like_version_2(numpy: Any) -> bool:
    """Return True if a float32 array times a float64 scalar is float64."""
    return bool((numpy.zeros(1, numpy.float32) * numpy.float64(1)).dtype == numpy.float64)


def loads_pickles(load: Any) -> Any:
    """Return numpy's `load`, with `allow_pickle` true unless it is given: the default until 2019."""

    @functools.wraps(load)
    def load_with_pickles(*arguments: Any, **options: Any) -> Any:
        if len(arguments) < 3:
            options.setdefault("allow_pickle", True)
        return load(*arguments, **options)

    return load_with_pickles


def _asscalar(array: Any) -> Any:
    return array.item()
