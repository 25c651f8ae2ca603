"""Sizes of the measurements: as documented, or the smallest that run all of their code."""

from __future__ import annotations

import os
from typing import TypeVar

SMALLEST_VARIABLE = "GAUNTLET_BENCH_SMALLEST"
"""Set in the environment, so that the programs of a measurement see it too, before `bench` is imported."""

Size = TypeVar("Size")


def sized(full: Size, *, smallest: Size) -> Size:
    """Return `full`, or `smallest` where only the code is to run and no figure is wanted."""
    return smallest if os.environ.get(SMALLEST_VARIABLE) else full
