"""Adapter: the pictures of samples: clean, perturbed, and their amplified difference."""

from __future__ import annotations

from collections.abc import Callable

from competitions.models import SampleSet
from competitions.sample_store import samples_of
from core.errors import Refusal
from evaluation.charts.sample_pictures import AMPLIFICATIONS, amplified, png
from evaluation.domain.images import Image

CLEAN, PERTURBED = "clean", "perturbed"


def difference_name(factor: int) -> str:
    """Return the name of the picture of the difference, amplified by `factor`."""
    return f"difference-{factor}"


NAMES = (CLEAN, PERTURBED, *map(difference_name, AMPLIFICATIONS))


def sample_picture(sample_set: SampleSet, sample: int, name: str, perturbed: Callable[[], Image]) -> bytes:
    """Return a picture of a sample as PNG; `perturbed` reads the perturbed image.

    Raise `Refusal` if there is no such sample or no picture of this name.
    """
    return picture_of(name, _clean(sample_set, sample), perturbed)


def picture_of(name: str, clean: Image, perturbed: Callable[[], Image]) -> bytes:
    """Return one of the pictures `NAMES` as PNG; `perturbed` reads the perturbed image. Raise `Refusal` for others."""
    if name not in NAMES:
        raise Refusal(f"{name} is no picture of a sample", fix=f"choose one of {', '.join(NAMES)}")
    if name == CLEAN:
        return png(clean)
    if name == PERTURBED:
        return png(perturbed())
    factor = int(name.removeprefix(difference_name(0)[:-1]))
    return png(amplified(clean, perturbed(), factor))


def clean_picture(sample_set: SampleSet, sample: int) -> bytes:
    """Return the clean image of a sample as PNG. Raise `Refusal` if the set has no such sample."""
    return png(_clean(sample_set, sample))


def _clean(sample_set: SampleSet, sample: int) -> Image:
    samples = samples_of(sample_set)
    if sample >= len(samples):
        raise Refusal(f"{sample_set} has no sample {sample}", fix="choose one of its samples")
    return samples[sample].image
