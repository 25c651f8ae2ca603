"""The two names of randomgen 1.14 that foolbox 1.x imports, over numpy's own generators."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np


class Xoroshiro128:
    """A source of random bits with a seed; without one it follows numpy's global generator."""

    def __init__(self, seed: Optional[int] = None) -> None:
        self.bits = np.random.PCG64(int(np.random.randint(1 << 31)) if seed is None else seed)

    @property
    def generator(self) -> RandomGenerator:
        """A generator over these bits."""
        return RandomGenerator(self)


class RandomGenerator:
    """Has the methods of numpy's `Generator` (with `dtype`) and, where it lacks one, of `RandomState`."""

    def __init__(self, source: Optional[Xoroshiro128] = None) -> None:
        bits = (source or Xoroshiro128()).bits
        self._new, self._old = np.random.Generator(bits), np.random.RandomState(bits)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._new if hasattr(self._new, name) else self._old, name)
