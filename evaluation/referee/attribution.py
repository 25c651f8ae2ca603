"""Whose query it is: that of the sample of the piece whose clean image it is clearly nearest to."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.domain.images import Image, Images, grey_image
from evaluation.domain.samples import Sample
from evaluation.referee.pixel_differences import PixelDifferences

REACH = 0.5
"""How far from a clean image its own queries lie at the most, as a share of its distance to the grey image.

Farther out, images are those that attacks on any sample begin with: noise, constant images, images of another class.
"""


CLOSER = 0.9
"""How much nearer another clean image must be, as a ratio of distances: where two images are much alike, a query that
moves away from both is nearer to one of them by chance."""


class Attribution:
    """Tells queries that explore another sample of the piece than the one they are sent for.

    Without it, an attack could spend the budgets of a whole piece on one sample.
    """

    def __init__(self, samples: Sequence[Sample], differences: PixelDifferences) -> None:
        self._differences = differences
        self._reach: dict[int, float] = {}
        self._others: dict[int, list[tuple[float, int]]] = {}
        for sample in samples:
            grey = grey_image(differences.shape)
            self._reach[sample.number] = REACH**2 * differences.squared(sample.number, grey.reshape(-1))
        for sample in samples:
            gaps = [
                (differences.squared(other.number, sample.image.reshape(-1)), other.number)
                for other in samples
                if other is not sample
            ]
            self._others[sample.number] = sorted(gaps)

    def owners(self, numbers: Sequence[int], images: Images, squared: Sequence[float]) -> list[int]:
        """The samples whose queries `images`, uint8 (n, bytes of an image), are, sent for the samples `numbers`.

        `squared`: their squared distances to the clean images of these. Where several are equally near, it is the
        sample that was named.
        """
        return [self._owner(number, images[index], squared[index]) for index, number in enumerate(numbers)]

    def _owner(self, named: int, image: Image, squared: float) -> int:
        owner, least = named, CLOSER**2 * squared
        for gap, other in self._others[named]:
            if gap >= (1 + CLOSER) ** 2 * squared:
                break  # by the triangle inequality this one, and all that follow, are not near enough
            distance = self._differences.squared(other, image)
            if distance < least and distance < self._reach[other]:
                owner, least = other, distance
        return owner
