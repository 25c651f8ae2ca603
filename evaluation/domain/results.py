"""What a match yields: an outcome for each sample, and the named reasons for what went wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import Images
from evaluation.domain.players import Side
from evaluation.domain.rules import QueryRules


class Outcome(StrEnum):
    """How one sample ended."""

    ADVERSARIAL = "adversarial"
    FAILED = "failed"
    CLEAN_WRONG = "clean_wrong"


class Reason(StrEnum):
    """Every way in which a player can fail, by the name that results, logs and pages show."""

    # at the door of the match
    NEVER_CONNECTED = "never_connected"
    EXITED_IN_SETUP = "exited_in_setup"
    BAD_HELLO = "bad_hello"
    # what it sent
    BAD_TYPE = "bad_type"
    BAD_LENGTH = "bad_length"
    BAD_COUNT = "bad_count"
    BAD_SEQUENCE = "bad_sequence"
    UNEXPECTED_BYTES = "unexpected_bytes"
    UNKNOWN_SAMPLE = "unknown_sample"
    # how it ended
    TOO_SLOW = "too_slow"
    DISCONNECTED = "disconnected"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    # what it answered
    INVALID_LABEL = "invalid_label"
    INCONSISTENT = "inconsistent"
    ATTACK_RAISED = "attack_raised"
    NO_ADVERSARIAL = "no_adversarial"
    NOT_CONFIRMED = "not_confirmed"
    MISCLASSIFIED = "misclassified"

    @property
    def text(self) -> str:
        """One sentence for people."""
        return _TEXTS[self]


_TEXTS: dict[Reason, str] = {
    Reason.NEVER_CONNECTED: "it did not connect to the referee within the set-up time",
    Reason.EXITED_IN_SETUP: "its process ended before it connected to the referee",
    Reason.BAD_HELLO: "its first frame was no valid HELLO",
    Reason.BAD_TYPE: "it sent a frame of a type that is not allowed there",
    Reason.BAD_LENGTH: "it sent a frame whose length does not fit its type and count",
    Reason.BAD_COUNT: "it sent a frame with a count outside the allowed range",
    Reason.BAD_SEQUENCE: "it sent a frame with a sequence number out of order",
    Reason.UNEXPECTED_BYTES: "it sent bytes while no frame was due",
    Reason.UNKNOWN_SAMPLE: "it named a sample that is not part of the piece",
    Reason.TOO_SLOW: "its time was used up",
    Reason.DISCONNECTED: "it closed its connection in mid-match",
    Reason.CRASHED: "its process ended with an error",
    Reason.OUT_OF_MEMORY: "it was stopped for using more memory than the limit",
    Reason.INVALID_LABEL: "the model gave no valid label for the image",
    Reason.INCONSISTENT: (
        "replayed images got other labels: the model is not a stateless, deterministic function of one image"
    ),
    Reason.ATTACK_RAISED: "the attack raised an exception on this sample",
    Reason.NO_ADVERSARIAL: "the attack found no adversarial",
    Reason.NOT_CONFIRMED: "none of the closest adversarials was confirmed by a verdict query",
    Reason.MISCLASSIFIED: "the clean image already meets the criterion",
}


@dataclass(frozen=True)
class Failure:
    """A player failed: who, why, and what is known beyond the reason's own sentence."""

    side: Side
    reason: Reason
    detail: str = ""
    in_setup: bool = False

    def __str__(self) -> str:
        tail = f" ({self.detail})" if self.detail else ""
        return f"{self.side}: {self.reason}: {self.reason.text}{tail}"


@dataclass(frozen=True)
class SampleResult:
    """One row: how one sample ended. Distances are L2 over pixels / 255; `seconds` is the sample's share of its piece.

    `found_label` is what the model calls the adversarial image, None where none was found.
    """

    sample: int
    label: int
    target: int | None
    outcome: Outcome
    distance: float
    worst_case: float
    queries: int
    seconds: float
    reason: Reason | None
    found_label: int | None = None


@dataclass(frozen=True, eq=False)
class Trace:
    """Every charged query of a stretch of play, one entry each, in order: columns of equal length.

    `sample` was named by the attack, `charged` is the sample whose budget paid, and `query` counts the queries of that
    one. `label` is -1 where the model gave no valid one, -2 where the answer was withheld. `distance` is that to the
    clean image of `sample`. It draws accuracy against queries and against budget.
    """

    sample: NDArray[np.uint16]
    charged: NDArray[np.uint16]
    query: NDArray[np.uint32]
    label: NDArray[np.int16]
    distance: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.sample)


@dataclass(frozen=True)
class AuditReport:
    """What came of asking the model again, and whether that is within the tolerance.

    `replayed` images got an answer again in other company, `changed` of them another label; `judged` verdict queries
    found `denied` images adversarial no more. Of `fresh_due` images, in their own frames, a freshly started model was
    to be asked, `fresh` were; it called `fresh_changed` of them otherwise, `fresh_unanswered` of these because it did
    not answer although it was started twice. Each count has limits of its own, so that none can be diluted by another.
    """

    replayed: int = 0
    changed: int = 0
    judged: int = 0
    denied: int = 0
    fresh_due: int = 0
    fresh: int = 0
    fresh_changed: int = 0
    fresh_unanswered: int = 0

    @property
    def passed(self) -> bool:
        """Within each tolerance: of 2 replays or 5 %, of 3 verdicts or 10 %, of 2 fresh replays or 5 %."""
        return (
            self.changed <= max(2, 0.05 * self.replayed)
            and self.denied <= max(3, 0.10 * self.judged)
            and not self.stateful
        )

    @property
    def stateful(self) -> bool:
        """Whether labels of equal frames differed after a fresh start.

        No attack can bring a model to that whose label of a frame depends on the frame alone. A GPU model needs
        deterministic kernels for it; the tolerance covers a few labels at the decision boundary.
        """
        return self.fresh_changed > max(2, 0.05 * self.fresh)

    @property
    def open(self) -> bool:
        """Whether a freshly started model still has to be asked: nothing may be scored before it was."""
        return self.fresh < self.fresh_due

    def __add__(self, other: AuditReport) -> AuditReport:
        counts = {name: count + getattr(other, name) for name, count in asdict(self).items()}
        return AuditReport(**counts)

    def __str__(self) -> str:
        unanswered = f" ({self.fresh_unanswered} of them without an answer)" if self.fresh_unanswered else ""
        return (
            f"{self.changed} of {self.replayed} replayed images got another label, {self.denied} of {self.judged} "
            f"verdicts were denied, {self.fresh_changed} of {self.fresh} labels changed after a fresh start{unanswered}"
        )


def sum_reports(reports: Iterable[AuditReport]) -> AuditReport:
    """The audit of a match, from those of its pieces."""
    return sum(reports, AuditReport())


@dataclass(frozen=True, eq=False)
class PieceResult:
    """What one piece yields; the unit that is committed. `perturbed` is (n, h, w, c): the scored image, or grey.

    `audit` and `failures` are those of the piece alone.
    """

    samples: tuple[SampleResult, ...]
    perturbed: Images
    trace: Trace
    seconds: float
    audit: AuditReport = field(default_factory=AuditReport)
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, eq=False)
class MatchResult:
    """One attack against one model over a sample set under one version of the rules."""

    rules: QueryRules
    track: str
    model: str
    attack: str
    pieces: tuple[PieceResult, ...]
    audit: AuditReport
    failures: tuple[Failure, ...] = field(default=())

    @property
    def samples(self) -> tuple[SampleResult, ...]:
        return tuple(row for piece in self.pieces for row in piece.samples)
