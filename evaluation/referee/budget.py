"""The query budget: kept for each sample, charged before an image is forwarded."""

from __future__ import annotations

from collections.abc import Sequence


class Budget:
    """Queries left of each sample of a piece."""

    def __init__(self, numbers: Sequence[int], queries: int) -> None:
        self._queries = queries
        self._left = dict.fromkeys(numbers, queries)

    def __contains__(self, number: int) -> bool:
        return number in self._left

    def stranger(self, numbers: Sequence[int]) -> int | None:
        """The first of `numbers` that is no sample of the piece."""
        left = self._left
        return next((number for number in numbers if number not in left), None)

    def charge(self, numbers: Sequence[int]) -> list[int]:
        """Charge one query for each image, in order.

        Gives for each image which query of its sample it is, from 1; 0 where that sample had none left, and then
        nothing is charged.
        """
        ordinals = []
        left = self._left
        for number in numbers:
            remaining = left[number]
            if remaining:
                left[number] = remaining - 1
                ordinals.append(self._queries - remaining + 1)
            else:
                ordinals.append(0)
        return ordinals

    def left(self, numbers: Sequence[int]) -> list[int]:
        """Queries left of each of these samples."""
        left = self._left
        return [left[number] for number in numbers]

    def used(self, number: int) -> int:
        """Queries charged to one sample."""
        return self._queries - self._left[number]
