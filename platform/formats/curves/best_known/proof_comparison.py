"""Adapter: reads, verifies and compares proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from competitions.models import SampleSet
from competitions.sample_store import samples_of
from core import object_store
from core.errors import Refusal
from evaluation.domain.images import Images, ImageShape
from evaluation.formats.curves.proofs import archive
from evaluation.formats.curves.proofs.distances import distances_of, lower, optimality
from evaluation.formats.curves.proofs.image_verdict import ImageVerdict
from evaluation.formats.curves.results import Booleans, Floats, Integers
from evaluation.formats.curves.scoring.standings import ModelStanding, standing_of
from evaluation.formats.curves.threat_models import Norm
from evaluation.parsing.limited_process import LimitedProcess, LimitExceededError
from formats.curves.models import Proof

__all__ = [
    "DEADLINE_SECONDS", "NORMS", "Lowered", "archive_of", "images_of", "lowered_by", "lowers_anything", "optimality",
    "standing",
]  # fmt: skip

NORMS = (Norm.LINF, Norm.L2)
"""The norms in which the site keeps what is best known."""

DEADLINE_SECONDS = 300.0
"""Seconds that a verification may take."""

_PARSER = "evaluation.formats.curves.proofs.archive:parse"
_PARSER_SECONDS, _PARSER_BYTES = 20, 1 << 30


@dataclass(frozen=True)
class Lowered:
    """A distance of an image of a proof that is smaller than the best known one."""

    image: int
    norm: Norm
    distance: float


def archive_of(upload: bytes, count: int, shape: ImageShape) -> tuple[bytes, int]:
    """Return the archive that the site keeps of an upload, and its number of images.

    The upload is read in a process with limits. Raise `Refusal` for what is no proof on `count` images.
    """
    try:
        with LimitedProcess(_PARSER, seconds=_PARSER_SECONDS, memory_bytes=_PARSER_BYTES) as process:
            fields, kept = process.ask({"count": count, "shape": list(shape)}, upload)
    except LimitExceededError as error:
        raise Refusal(f"the upload cannot be read: {error}", fix="upload fewer images at a time") from error
    return kept, int(fields["images"])


def lowers_anything(kept: bytes, sample_set: SampleSet, best: Mapping[Norm, Floats]) -> bool:
    """Return whether an image of an archive is nearer than what is best known, if the model is wrong on it."""
    return bool(ProofOnSamples(kept, sample_set).lower_any(best).any())


def lowered_by(proof: Proof, found: Sequence[str], best: Mapping[Norm, Floats]) -> list[Lowered]:
    """Return what a proof lowers whose images have the verdicts `found`, in the order of norm and image."""
    images = images_of(proof)
    adversarial: Booleans = np.array(found, object) == ImageVerdict.ADVERSARIAL.value
    return [
        Lowered(int(images.indices[row]), norm, float(images.distances[norm][row]))
        for norm in NORMS
        for row in (adversarial & images.lower(norm, best)).nonzero()[0]
    ]


def standing(right: Booleans, distances: Floats, budget: float) -> ModelStanding:
    """Return accuracy, median and curve that follow from distances, (n,)."""
    return standing_of([(right, distances)], budget)


class ProofOnSamples:
    """The images of an archive beside those of the round."""

    def __init__(self, content: bytes, sample_set: SampleSet) -> None:
        samples = samples_of(sample_set)
        kept = archive.decode(content)
        self.indices: Integers = kept.indices
        self.changed: Images = kept.images
        chosen = [samples[index] for index in kept.indices]
        self.labels: Integers = np.array([each.label for each in chosen], np.int64)
        self.distances: Mapping[Norm, Floats] = distances_of(np.stack([each.image for each in chosen]), self.changed)

    def lower(self, norm: Norm, best: Mapping[Norm, Floats]) -> Booleans:
        """Return which images would lower the best known distance in a norm."""
        return lower(self.distances[norm], best[norm][self.indices])

    def lower_any(self, best: Mapping[Norm, Floats]) -> Booleans:
        """Return which images would lower a best known distance."""
        found: Booleans = np.logical_or.reduce([self.lower(norm, best) for norm in NORMS])
        return found


def images_of(proof: Proof) -> ProofOnSamples:
    return ProofOnSamples(object_store.get(proof.content), proof.round_entry.round.sample_set)
