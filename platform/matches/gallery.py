"""Adapter: the pictures of samples: clean, perturbed, and their amplified difference; those of a match."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np

from competitions.models import SampleSet
from competitions.sample_store import samples_of
from core import object_store
from core.errors import Refusal
from evaluation.charts.pictures import AMPLIFICATIONS, USUAL_AMPLIFICATION, amplified, png
from evaluation.domain.images import Image
from matches.engine_adapter import IMAGES
from matches.models import Match, Piece

__all__ = [
    "AMPLIFICATIONS",
    "CLEAN",
    "NAMES",
    "PERTURBED",
    "USUAL_AMPLIFICATION",
    "clean_picture",
    "difference_name",
    "picture",
    "sample_picture",
]

CLEAN, PERTURBED = "clean", "perturbed"


def difference_name(factor: int) -> str:
    """Return the name of the picture of the difference, amplified by `factor`."""
    return f"difference-{factor}"


NAMES = (CLEAN, PERTURBED, *map(difference_name, AMPLIFICATIONS))


def picture(match: Match, sample: int, name: str) -> bytes:
    """Return a picture of a sample as PNG. Raise `Refusal` if it has not been played or the name is unknown."""
    return sample_picture(match.sample_set, sample, name, lambda: _perturbed(match, sample))


def sample_picture(sample_set: SampleSet, sample: int, name: str, perturbed: Callable[[], Image]) -> bytes:
    """Return a picture of a sample as PNG; `perturbed` reads the perturbed image. Raise `Refusal` as `picture`."""
    if name not in NAMES:
        raise Refusal(f"{name} is no picture of a sample", fix=f"choose one of {', '.join(NAMES)}")
    if name == CLEAN:
        return clean_picture(sample_set, sample)
    if name == PERTURBED:
        return png(perturbed())
    factor = int(name.removeprefix(difference_name(0)[:-1]))
    return png(amplified(_clean(sample_set, sample), perturbed(), factor))


def clean_picture(sample_set: SampleSet, sample: int) -> bytes:
    """Return the clean image of a sample as PNG. Raise `Refusal` if the set has no such sample."""
    return png(_clean(sample_set, sample))


def _clean(sample_set: SampleSet, sample: int) -> Image:
    samples = samples_of(sample_set)
    if sample >= len(samples):
        raise Refusal(f"{sample_set} has no sample {sample}", fix="choose one of its samples")
    return samples[sample].image


def _perturbed(match: Match, sample: int) -> Image:
    piece = match.pieces.filter(state=Piece.State.PLAYED, first__lte=sample).order_by("-first").first()
    if piece is None or sample >= piece.first + piece.count:
        raise Refusal(f"sample {sample} of {match} has not been played", fix="choose one that was played")
    with np.load(io.BytesIO(object_store.get(piece.artefact)), allow_pickle=False) as columns:
        image: Image = columns[IMAGES][columns["sample"].tolist().index(sample)]
    return image
