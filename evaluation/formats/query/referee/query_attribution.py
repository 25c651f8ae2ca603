"""Attribution of a query to the sample of the piece whose clean image is clearly the nearest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import GREY, Image, Images
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.squared_distances import PixelDifferences

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
        numbers = [sample.number for sample in samples]
        grey = np.full_like(differences.clean, GREY)
        self._reaches = REACH**2 * differences.squared(numbers, grey)
        self._reach = dict(zip(numbers, self._reaches.tolist(), strict=True))
        self._others: dict[int, list[tuple[float, int]]] = {}
        for sample in samples:
            image = np.tile(sample.image.reshape(-1), (len(numbers), 1))
            gaps = zip(differences.squared(numbers, image).tolist(), numbers, strict=True)
            self._others[sample.number] = sorted((gap, number) for gap, number in gaps if number != sample.number)
        self._nearest_gap = {number: others[0][0] for number, others in self._others.items() if others}

    def owners(self, numbers: Sequence[int], images: Images, squared: Sequence[float]) -> list[int]:
        """Return for each image the number of the sample that pays for it.

        `images` is uint8 (n, bytes of an image), `numbers` are the samples that the attack named, and `squared` the
        squared distances to their clean images. Where several samples are equally near, the named one pays.
        """
        owners = list(numbers)
        # 1. by the triangle inequality, no other sample is near enough to an image that is this near to its own
        nearest_gap = self._nearest_gap
        unclear = [
            index
            for index, number in enumerate(numbers)
            if number in nearest_gap and nearest_gap[number] < (1 + CLOSER) ** 2 * squared[index]
        ]
        if not unclear:
            return owners
        # 2. a lower bound of its distance tells that most samples are too far away
        named = [numbers[index] for index in unclear]
        nearer = CLOSER**2 * np.array([squared[index] for index in unclear])
        limits = np.minimum(nearer[:, np.newaxis], self._reaches)
        limits[range(len(named)), [self._differences.columns[number] for number in named]] = 0.0
        possible = self._differences.bounds(images if len(unclear) == len(images) else images[unclear], limits) < limits
        # 3. exact distances decide about the others
        for place in np.flatnonzero(possible.any(axis=1)).tolist():
            index = unclear[place]
            owners[index] = self._owner(named[place], images[index], squared[index], possible[place])
        return owners

    def _owner(self, named: int, image: Image, squared: float, possible: NDArray[np.bool_]) -> int:
        owner, least = named, CLOSER**2 * squared
        for gap, other in self._others[named]:
            if gap >= (1 + CLOSER) ** 2 * squared:
                break  # neither this sample nor a later one is near enough
            if not possible[self._differences.columns[other]]:
                continue
            distance = float(self._differences.squared([other], image[np.newaxis])[0])
            if distance < least and distance < self._reach[other]:
                owner, least = other, distance
        return owner
