"""What a model says of an image of a proof."""

from __future__ import annotations

from enum import StrEnum


class ImageVerdict(StrEnum):
    """What the model says of an image of a proof."""

    ADVERSARIAL = "adversarial"
    """Two instances give it the same wrong label."""
    FAR = "far"
    """It was not asked: a smaller distance is known."""
    RIGHT = "right"
    INCONSISTENT = "inconsistent"
    """Two instances give it different labels."""
