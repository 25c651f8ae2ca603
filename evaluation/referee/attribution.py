"""Attribution of a query to the sample of the piece whose clean image is clearly the nearest."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.domain.images import Image, Images, grey_image
from evaluation.domain.samples import Sample
from evaluation.referee.pixel_differences import PixelDifferences

REACH = 0.5
"""Largest distance of a query from the clean image that it explores, as a share of the distance from clean to grey.

Images farther out are starting points of attacks on any sample: noise, constant images, images of another class.
"""


CLOSER = 0.9
"""Largest ratio of distances at which another clean image counts as clearly nearer.

Where two clean images are similar, a query that moves away from both can be nearer to the other one by chance.
"""


class Attribution:
    """Finds queries that explore another sample of the piece than the one that they name.

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
        """Return for each image the number of the sample that pays for it.

        `images` is uint8 (n, bytes of an image), `numbers` are the samples that the attack named, and `squared` the
        squared distances to their clean images. Where several samples are equally near, the named one pays.
        """
        return [self._owner(number, images[index], squared[index]) for index, number in enumerate(numbers)]

    def _owner(self, named: int, image: Image, squared: float) -> int:
        owner, least = named, CLOSER**2 * squared
        for gap, other in self._others[named]:
            if gap >= (1 + CLOSER) ** 2 * squared:
                break  # by the triangle inequality neither this sample nor a later one is near enough
            distance = self._differences.squared(other, image)
            if distance < least and distance < self._reach[other]:
                owner, least = other, distance
        return owner
