"""Pointwise attack (Schott et al. 2019) on blocks of pixels, from an image of the target class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from foolbox.attacks import PointwiseAttack
from foolbox.criteria import TargetedMisclassification
from foolbox.models.base import Model
from foolbox.types import Bounds

from gauntlet import serve_attack
from gauntlet.foolbox_adapter import FoolboxModel

STARTS = dict(np.load(Path(__file__).with_name("starts.npz"), allow_pickle=False))
BLOCKS = 16  # per side: the 12,288 single values would need many times the budget


class BlockModel(Model):
    """The model as a function of (n, 16, 16, 1) mixing shares: 0 is the clean block, 1 that of the start image."""

    def __init__(self, model, clean, start):
        self._model = FoolboxModel(model)
        self._clean = clean.astype(np.float32) / 255
        self._change = start.astype(np.float32) / 255 - self._clean
        self._rows, self._columns = (np.arange(side) * BLOCKS // side for side in clean.shape[:2])

    @property
    def bounds(self):
        return Bounds(0, 1)

    def __call__(self, shares):
        mask = shares.raw[:, self._rows][:, :, self._columns]
        return type(shares)(self._model(self._clean + mask * self._change))


def attack(model, image, label, *, target, rng):
    """Reset block after block, until the budget is used up or no block can be reset."""
    start = closest_start(model, image.astype(np.float64), target)
    if start is None:
        return
    clean = np.zeros((1, BLOCKS, BLOCKS, 1), np.float32)
    PointwiseAttack().run(
        BlockModel(model, image, start),
        clean,
        TargetedMisclassification(np.array([target])),
        starting_points=np.ones_like(clean),
    )


def closest_start(model, image, target):
    """Return the nearest known image of the target class that the model labels as such, or None."""
    images = [
        one.astype(np.float64) for one in STARTS["images"][STARTS["labels"] == target] if one.shape == model.shape
    ]
    found = [start for start, label in zip(images, model.many(images), strict=True) if model.is_adversarial(label)]
    return min(found, key=lambda start: np.linalg.norm(start - image), default=None)


if __name__ == "__main__":
    serve_attack(attack)
