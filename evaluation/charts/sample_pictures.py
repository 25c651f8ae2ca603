"""Pictures of a sample: images as PNG, and the amplified difference of two."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image as Picture

from evaluation.domain.images import GREY, Image

AMPLIFICATIONS = (1, 5, 10, 25, 100)
"""Factors by which a difference can be shown."""

USUAL_AMPLIFICATION = 10
"""The one where nobody has chosen one."""


def amplified(clean: Image, perturbed: Image, factor: int) -> Image:
    """Return the difference of two images around mid-grey, `factor` times as large, as far as it fits."""
    difference: Image = np.clip(GREY + factor * (perturbed.astype(np.int32) - clean), 0, 255).astype(np.uint8)
    return difference


def png(image: Image) -> bytes:
    """Return an image as PNG."""
    file = io.BytesIO()
    Picture.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).save(file, "png")
    return file.getvalue()
