"""Results of the transfer format: batches of attacks and defences, and the counts that scores are made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.explained_enum import ExplainedName
from evaluation.domain.images import Images

REPEAT_LEVEL = 0.001
"""Share of independent defences that the images labelled again mark as inconsistent at most."""

NO_LABEL = -1
"""The label of an image that a defence did not label, or an attack did not make."""


class BatchReason(ExplainedName):
    """Every reason for which a submission can fail on a batch, by the name in results, logs and pages.

    What it wrote before it failed counts.
    """

    TOO_SLOW = "too_slow", "it reached its time limit for the batch and was stopped; what it had written counts"
    CRASHED = "crashed", "its process ended with an error; what it had written counts"
    OUT_OF_MEMORY = "out_of_memory", "it used more memory than the limit and was stopped; what it had written counts"
    TOO_MUCH_OUTPUT = (
        "too_much_output",
        "it wrote more files or bytes than the limit and was stopped; nothing of it counts",
    )
    NO_RESULT = "no_result", "it wrote no result file"
    RESULT_TOO_LARGE = "result_too_large", "its result file is larger than the limit and was ignored"
    UNREADABLE_RESULT = "unreadable_result", "its result file is not a CSV file in UTF-8 and was ignored"


class ImageNote(ExplainedName):
    """What was noticed about one image of an attack. The first two leave the image without a score."""

    MISSING = "missing", "no file of its name was written"
    UNREADABLE = "unreadable", "its file is not a PNG or JPEG image of at most 4,096 x 4,096 pixels"
    RESIZED = "resized", "it had another size and was resized bicubically"
    CONVERTED = "converted", "it was not RGB of 8 bits and was converted"
    CLIPPED = "clipped", "it left the epsilon ball and was clipped to it"


class RowNote(ExplainedName):
    """What was noticed about rows of a defence's result file."""

    SKIPPED = "skipped", "the row is not a name and a whole number, and was skipped"
    UNKNOWN_NAME = "unknown_name", "the row names no image of the batch, and was ignored"
    REPEATED = "repeated", "the row repeats a name; the last one counts"
    OUTSIDE_CLASSES = "outside_classes", "the label is no class of the competition, and counts as wrong"


@dataclass(frozen=True)
class BatchRun:
    """How a submission ran on one batch; `reason` is None if it ended by itself, without an error, in time."""

    seconds: float
    reason: BatchReason | None = None
    detail: str = ""

    def __str__(self) -> str:
        tail = f" ({self.detail})" if self.detail else ""
        return f"{self.reason}: {self.reason.text}{tail}" if self.reason else "done"


@dataclass(frozen=True, eq=False)
class AttackBatch:
    """What an attack made of one batch, clipped to the ball: (n, h, w, 3), and which of them it made at all.

    An image that was not made holds zeros. `hashes` are SHA-256 of the pixels, empty for images that were not made.
    `notes` has the notes of each image.
    """

    attack: str
    batch: int
    epsilon: int
    images: Images
    made: NDArray[np.bool_]
    hashes: tuple[str, ...]
    notes: tuple[tuple[ImageNote, ...], ...]
    run: BatchRun

    def count(self, note: ImageNote) -> int:
        """Return the number of images with this note."""
        return sum(note in notes for notes in self.notes)


@dataclass(frozen=True, eq=False)
class DefenceBatch:
    """The labels (0 to classes - 1) that a defence gave to one batch of one attack; `NO_LABEL` where it gave none.

    A label outside the classes is `classes`, which is always wrong. `rows` counts what was noticed in its file.
    """

    defence: str
    attack: str
    batch: int
    labels: NDArray[np.int16]
    rows: dict[RowNote, int]
    run: BatchRun


@dataclass(frozen=True)
class PairCounts:
    """One attack against one defence over a sample set, as counts of images.

    Of `images` samples the attack made `made`, of which the defence labelled `labelled`: `correct` with the true class
    and `hits` with the target class of a targeted attack.
    """

    attack: str
    defence: str
    targeted: bool
    images: int
    made: int
    labelled: int
    correct: int
    hits: int = 0

    def __post_init__(self) -> None:
        counts = (self.images, self.made, self.labelled, self.correct + self.hits)
        if any(more < fewer for more, fewer in pairwise(counts)):
            raise ValueError(f"counts do not fit: {self}")

    @property
    def fooled(self) -> int:
        """The points of the attack: labels that are the target class, or in the untargeted track wrong."""
        return self.hits if self.targeted else self.labelled - self.correct


@dataclass(frozen=True)
class RepeatCounts:
    """What became of the labels of images that a defence labelled again, in other company and under other names.

    Of `repeated` images, `changed` got another label, among them `lost` the true one before and not now, and `gained`
    the true one now and not before. A random defence changes labels, but loses as many true ones as it gains.
    """

    repeated: int = 0
    changed: int = 0
    lost: int = 0
    gained: int = 0

    def __add__(self, other: RepeatCounts) -> RepeatCounts:
        return RepeatCounts(**{name: count + getattr(other, name) for name, count in asdict(self).items()})

    @property
    def level(self) -> float:
        """Return the chance of at least `lost` losses among all losses and gains if both are equally likely.

        That of the exact sign test (one-sided).
        """
        either = self.lost + self.gained
        ways = at_least = 1  # in which all of them are losses; from there down to `lost`
        for gained in range(1, self.gained + 1):
            ways = ways * (either - gained + 1) // gained
            at_least += ways
        return at_least / (1 << either)  # whole numbers: neither need fit into a float

    @property
    def inconsistent(self) -> bool:
        """True if labels were right more often in the original runs than chance explains: runs are not independent."""
        return self.level < REPEAT_LEVEL
