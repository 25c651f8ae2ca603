"""What a piece keeps for the audit of its model, which follows when no instance of the model plays any more."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.domain.images import Image, Images


@dataclass(frozen=True, eq=False)
class KeptFrame:
    """A frame that the model was asked about: uint8 images (n, bytes of an image), and the labels it gave.

    `distance` is the largest L2 distance of its images from the clean images, over pixels / 255.
    """

    images: Images
    labels: tuple[int, ...]
    distance: float


@dataclass(frozen=True, eq=False)
class NearestAnswer:
    """The closest adversarial of a sample by the model's first answer, where the verdict accepted another or none.

    It decides where the model fails its audit. `image` is flat; `distance` is at most the sample's worst case.
    """

    sample: int
    image: Image
    label: int
    distance: float


@dataclass(frozen=True, eq=False)
class KeptFrames:
    """The frames of one piece that a freshly started model is asked about again.

    `frames` are asked as they were, `alone` holds frames of one image that the model saw in other company.
    `nearest` holds what the rows become where the model fails.
    """

    frames: tuple[KeptFrame, ...]
    alone: tuple[KeptFrame, ...] = ()
    nearest: tuple[NearestAnswer, ...] = ()
