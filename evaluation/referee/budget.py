"""The query budget: kept for each sample, charged before an image is forwarded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Charge(NamedTuple):
    """Who paid for a forwarded image.

    `ordinal` says which query of the sample `payer` it was, from 1, or 0 where nobody could pay. `answered` is False
    where its own sample had nothing left: then the attack does not learn the label.
    """

    payer: int
    ordinal: int
    answered: bool


class Budget:
    """Queries left of each sample of a piece."""

    def __init__(self, numbers: Sequence[int], queries: int) -> None:
        self._queries = queries
        self._left = dict.fromkeys(numbers, queries)

    def __contains__(self, number: int) -> bool:
        return number in self._left

    def first_unknown(self, numbers: Sequence[int]) -> int | None:
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

    def settle(self, named: Sequence[int], owners: Sequence[int]) -> list[Charge]:
        """Move the charges for the images of a frame to the samples whose queries they are.

        All of them were charged to the samples that were `named` before. Where the owner has nothing left, the named
        sample pays all the same, for asking, and the answer is withheld: else it would be free to ask for ever.
        """
        left = self._left
        for number in named:
            left[number] += 1
        charges = []
        for number, owner in zip(named, owners, strict=True):
            answered = left[owner] > 0
            payer = owner if answered else number
            ordinal = 0
            if left[payer]:  # the named sample may have paid for others of this very frame
                left[payer] -= 1
                ordinal = self._queries - left[payer]
            charges.append(Charge(payer, ordinal, answered))
        return charges

    def left(self, numbers: Sequence[int]) -> list[int]:
        """Queries left of each of these samples."""
        left = self._left
        return [left[number] for number in numbers]

    def used(self, number: int) -> int:
        """Queries charged to one sample."""
        return self._queries - self._left[number]
