"""What a smoke test shows its participant: some of its public samples, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluation.domain.images import Image

PICTURED = 6
"""The most samples that are shown."""

MAX_BYTES = 4 << 20
"""The most bytes of pixels of all images together."""


@dataclass(frozen=True, eq=False)
class PathStep:
    """A query that came closer than all before: its distance, and the label of the model.

    `query` is its number among those that named the sample, from 1. `image` is None where there is no room for it.
    """

    query: int
    distance: float
    label: int
    image: Image | None


@dataclass(frozen=True, eq=False)
class PicturedSmokeSample:
    """A sample of a smoke test, as the player saw it, and what became of it.

    `clean_label` is the label that the model gave to the clean image, `found` that of the perturbed one; None where
    no model was asked, below 0 where it gave no valid one. `perturbed` is None where nothing was found or made.
    `distance`, `queries` and `path` belong to formats with queries; the path ends with the closest image.
    """

    label: int
    clean: Image
    target: int | None = None
    clean_label: int | None = None
    perturbed: Image | None = None
    found: int | None = None
    distance: float | None = None
    queries: int | None = None
    path: tuple[PathStep, ...] = ()


def bounded(samples: Sequence[PicturedSmokeSample], most_bytes: int = MAX_BYTES) -> tuple[PicturedSmokeSample, ...]:
    """Return the first samples with as many images of their paths as `most_bytes` of pixels have room for.

    There is always one sample. Steps keep their numbers without their images; the first and the last keep theirs
    longest.
    """
    if not samples:
        return ()
    size = samples[0].clean.nbytes
    shown = samples[: max(1, min(PICTURED, most_bytes // (2 * size)))]
    steps = max(0, most_bytes // (len(shown) * size) - 2)
    return tuple(replace(sample, path=_thinned(sample.path, steps)) for sample in shown)


def _thinned(path: tuple[PathStep, ...], images: int) -> tuple[PathStep, ...]:
    """Return the path with at most `images` images, spread evenly over it from its last step on."""
    last, number_kept = len(path) - 1, min(images, len(path))
    kept = {last - round(number * last / max(1, number_kept - 1)) for number in range(number_kept)}
    return tuple(step if number in kept else replace(step, image=None) for number, step in enumerate(path))
