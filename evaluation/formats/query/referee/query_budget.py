"""The query budget of each sample, charged before an image is forwarded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Charge(NamedTuple):
    """The sample that paid for a forwarded image.

    `ordinal` is the number of the query of the sample `payer`, from 1, or 0 where no sample could pay. `answered` is
    False where the sample that the query belongs to had no budget left; the attack then does not learn the label.
    """

    payer: int
    ordinal: int
    answered: bool


class Budget:
    """The queries left for each sample of a piece."""

    def __init__(self, numbers: Sequence[int], queries: int) -> None:
        self._queries = queries
        self._left = dict.fromkeys(numbers, queries)

    def __contains__(self, number: int) -> bool:
        return number in self._left

    def first_unknown(self, numbers: Sequence[int]) -> int | None:
        """Return the first of `numbers` that is not a sample of the piece."""
        left = self._left
        return next((number for number in numbers if number not in left), None)

    def charge(self, numbers: Sequence[int]) -> list[int]:
        """Charge one query for each image, in order.

        Return for each image the number of the query of its sample, from 1. Where the sample has no budget left,
        return 0 and charge nothing.
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
        """Move the charges of a frame to the samples that its queries belong to.

        Before, all of them were charged to the samples that the attack `named`. Where the owner has no budget left,
        the named sample pays and the answer is withheld; otherwise such queries would be free without limit.
        """
        left = self._left
        for number in named:
            left[number] += 1
        charges = []
        for number, owner in zip(named, owners, strict=True):
            answered = left[owner] > 0
            payer = owner if answered else number
            ordinal = 0
            if left[payer]:  # the named sample may already have paid for other images of this frame
                left[payer] -= 1
                ordinal = self._queries - left[payer]
            charges.append(Charge(payer, ordinal, answered))
        return charges

    def left(self, numbers: Sequence[int]) -> list[int]:
        """Return the queries left for each of these samples."""
        left = self._left
        return [left[number] for number in numbers]

    def used(self, number: int) -> int:
        """Return the queries charged to one sample."""
        return self._queries - self._left[number]
