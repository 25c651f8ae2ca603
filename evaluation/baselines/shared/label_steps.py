"""Steps of attacks that see labels alone: starts, searches for the boundary, low frequencies, estimates of its normal.

Images are arrays (h, w, c) of levels, 0 to 255, kept as real numbers: the model gets them rounded. Distances are in
levels, too. This file needs numpy alone, and nothing from Gauntlet: a bundled submission contains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float64]
Step = Callable[[Any, Image, Image, Image, int], Image]
"""From model, clean image, point on the boundary, its normal and the number of the iteration to the next point."""

STARTS = Path(__file__).with_name("starts.npz")
NOISES = 20
TOLERANCE = 0.01
"""A search along a line ends at this share of the line's length."""
CHUNK = 16
"""Images that are drawn and asked about at once: of large images, more would take much memory."""
LEAST_ROOT_MEAN_SQUARE = 0.5
"""Levels of the smallest probe, for each value of an image: rounding would erase smaller ones."""
ITERATIONS = 1000  # the budget ends an attack earlier


def is_adversarial(model: Any, image: Image) -> bool:
    """Return whether the image, rounded and clipped, meets the criterion, for one query."""
    return bool(model.is_adversarial(model(image)))


def length(vector: Image) -> float:
    """Return the L2 norm."""
    return float(np.linalg.norm(vector.ravel()))


def unit(vector: Image) -> Image:
    """Return the vector at length 1, or zeros if it has none."""
    return vector / (length(vector) or 1.0)


def far_points(image: Image, target: int | None, rng: np.random.Generator) -> Iterator[Image]:
    """Yield what may be adversarial: noise and changed copies, or images of the target's class in `starts.npz`."""
    if target is not None:
        if STARTS.is_file():
            with np.load(STARTS, allow_pickle=False) as known:
                images, labels = known["images"], known["labels"]
            yield from (one.astype(np.float64) for one in images[labels == target] if one.shape == image.shape)
        return
    yield from (rng.uniform(0, 255, image.shape) for _ in range(NOISES))
    yield from (255 - image, image[::-1], image[:, ::-1], np.zeros_like(image), np.full_like(image, 255))
    turned = (np.rot90(image, turns) for turns in (1, 2, 3))
    yield from (one for one in turned if one.shape == image.shape)
    yield from (np.roll(image, len(image) // 2, axis) for axis in (0, 1))


def starting_point(model: Any, image: Image, target: int | None, rng: np.random.Generator) -> Image | None:
    """Return the nearest boundary point on lines to far points, or None if none of them is adversarial.

    Without a target, the first far point that is adversarial is enough.
    """
    best = None
    for point in far_points(image, target, rng):
        if best is not None:  # on its way to the image it must pass the best one's distance
            point = image + (point - image) * min(1.0, length(best - image) / (length(point - image) or 1.0))
        if is_adversarial(model, point):
            best = bisect(model, image, point)
            if target is None:
                break
    return best


def bisect(model: Any, image: Image, point: Image) -> Image:
    """Return the adversarial point next to the boundary on the line from the image to `point` (HSJA, algorithm 1)."""
    return search(model, lambda share: point + share * (image - point))


def search(model: Any, curve: Callable[[float], Image]) -> Image:
    """Return the point of `curve` (0 to 1) before the boundary, given that it is adversarial at 0 and not at 1."""
    low, high = 0.0, 1.0
    while high - low > TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if is_adversarial(model, curve(middle)) else (low, middle)
    return curve(low)


def semicircle(image: Image, point: Image, normal: Image) -> Callable[[float], Image]:
    """Return the curve from `point` (0) to the image (1) whose diameter joins them, on the side of the normal (CGBA).

    Where the boundary is a plane with this normal, the curve meets it at the point that is nearest to the image.
    """
    distance, along = length(point - image), unit(point - image)
    across = unit(normal - np.vdot(normal, along) * along)

    def at(share: float) -> Image:
        angle = share * np.pi / 2
        found: Image = image + distance * np.cos(angle) * (np.cos(angle) * along + np.sin(angle) * across)
        return found

    return at


def cosines(size: int, kept: int) -> Image:
    """Return the first `kept` rows of the orthonormal cosine transform (DCT-II): (kept, size)."""
    rows = np.arange(min(kept, size))[:, np.newaxis]
    basis: Image = np.sqrt(2 / size) * np.cos(np.pi * rows * (np.arange(size) + 0.5) / size)
    basis[0] /= np.sqrt(2)
    return basis


class LowFrequencies:
    """The images whose cosine transform has the lowest `kept` frequencies of each axis; all images for None."""

    def __init__(self, shape: tuple[int, ...], kept: int | None) -> None:
        self.shape = shape
        height, width, channels = shape
        self._bases = (cosines(height, kept), cosines(width, kept)) if kept else None
        self.coefficients = (min(kept, height), min(kept, width), channels) if kept else shape

    def image_of(self, coefficients: Image) -> Image:
        """Return the images (..., h, w, c) of coefficients; lengths stay."""
        if self._bases is None:
            return coefficients
        rows, columns = self._bases
        planes = rows.T @ np.moveaxis(coefficients, -1, -3) @ columns
        return np.ascontiguousarray(np.moveaxis(planes, -3, -1))

    def draw(self, rng: np.random.Generator, count: int) -> Image:
        """Return `count` images of length 1 in uniform directions."""
        drawn = rng.standard_normal((count, *self.coefficients))
        lengths = np.sqrt((drawn.reshape(count, -1) ** 2).sum(1))
        return self.image_of(drawn / lengths.reshape(count, 1, 1, 1))


def normal_at(
    model: Any, point: Image, size: float, count: int, frequencies: LowFrequencies, rng: np.random.Generator
) -> Image:
    """Return the unit normal at a boundary point, towards the adversarial side, from `count` probes at `size` of it.

    The sign of each probe weighs its direction, less the mean sign (HSJA, equations 9 and 16).
    """
    size = max(size, LEAST_ROOT_MEAN_SQUARE * np.sqrt(point.size))
    signed, plain, signs = np.zeros(point.shape), np.zeros(point.shape), 0.0
    for begin in range(0, count, CHUNK):
        draws = frequencies.draw(rng, min(CHUNK, count - begin))
        answers = [1.0 if model.is_adversarial(label) else -1.0 for label in model.many(list(point + size * draws))]
        signed += np.tensordot(answers, draws, 1)
        plain += draws.sum(0)
        signs += sum(answers)
    mean = signs / count
    return unit(signed if abs(mean) == 1 else signed - mean * plain)


def walking(step: Step, *, first_probes: int, probe: float, kept: int | None) -> Callable[..., None]:
    """Return the attack that estimates the normal and takes a step, by turns, until the budget is used up.

    It ends before where nothing is left to ask. Iteration t has `first_probes` sqrt(t) probes (HSJA, algorithm 2) at
    the share `probe` of the distance, of the lowest `kept` frequencies of each axis.
    """

    def attack(
        model: Any, image: NDArray[np.uint8], label: int | None, *, target: int | None, rng: np.random.Generator
    ) -> None:
        clean, frequencies = image.astype(np.float64), LowFrequencies(image.shape, kept)
        point = starting_point(model, clean, target, rng)
        if point is None:
            return
        for iteration in range(1, ITERATIONS):
            distance, left = length(point - clean), model.queries_left
            if distance < 1:
                return
            count = int(first_probes * np.sqrt(iteration))
            normal = normal_at(model, point, probe * distance, count, frequencies, rng)
            point = step(model, clean, point, normal, iteration)
            if model.queries_left == left:
                return

    return attack
