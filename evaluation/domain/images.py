"""Images: uint8 arrays of shape (height, width, channels), values 0 to 255."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Image: TypeAlias = NDArray[np.uint8]
"""One image, (height, width, channels)."""

Images: TypeAlias = NDArray[np.uint8]
"""Several images, (n, height, width, channels)."""

GREY = 128
"""Every value of the uniform grey image, the worst case of the rules (Brendel et al. 2020, section 4.2)."""


class ImageShape(NamedTuple):
    """Height, width and channels of every image of a competition, in pixels."""

    height: int
    width: int
    channels: int

    @property
    def size(self) -> int:
        """Bytes in one image."""
        return self.height * self.width * self.channels


def grey_image(shape: ImageShape) -> Image:
    """The uniform grey image: what an attack that found nothing is booked with."""
    return np.full(shape, GREY, np.uint8)
