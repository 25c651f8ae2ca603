"""Results of a match: an outcome for each sample, and the named reasons for failures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import Images
from evaluation.domain.kept_frames import KeptFrames
from evaluation.domain.players import Side
from evaluation.domain.rules import QueryRules
from evaluation.domain.text import Text


class Outcome(StrEnum):
    """The outcome of one sample."""

    ADVERSARIAL = "adversarial"
    FAILED = "failed"
    CLEAN_WRONG = "clean_wrong"


class Reason(StrEnum):
    """Every reason for which a player can fail, by the name in results, logs and pages."""

    # before the match
    NEVER_CONNECTED = "never_connected"
    EXITED_IN_SETUP = "exited_in_setup"
    BAD_HELLO = "bad_hello"
    # protocol
    BAD_TYPE = "bad_type"
    BAD_LENGTH = "bad_length"
    BAD_COUNT = "bad_count"
    BAD_SEQUENCE = "bad_sequence"
    UNEXPECTED_BYTES = "unexpected_bytes"
    UNKNOWN_SAMPLE = "unknown_sample"
    # time, connection and process
    TOO_SLOW = "too_slow"
    DISCONNECTED = "disconnected"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    # results
    INVALID_LABEL = "invalid_label"
    INCONSISTENT = "inconsistent"
    ATTACK_RAISED = "attack_raised"
    NO_ADVERSARIAL = "no_adversarial"
    NOT_CONFIRMED = "not_confirmed"
    MISCLASSIFIED = "misclassified"

    @property
    def text(self) -> Text:
        """A sentence for people."""
        return _TEXTS[self]


_TEXTS: dict[Reason, Text] = {
    Reason.NEVER_CONNECTED: Text("it did not connect to the referee within the set-up time"),
    Reason.EXITED_IN_SETUP: Text("its process ended before it connected to the referee"),
    Reason.BAD_HELLO: Text("its first frame was not a valid HELLO"),
    Reason.BAD_TYPE: Text("it sent a frame of a type that is not allowed at this point"),
    Reason.BAD_LENGTH: Text("it sent a frame whose length does not match its type and count"),
    Reason.BAD_COUNT: Text("it sent a frame with a count outside the allowed range"),
    Reason.BAD_SEQUENCE: Text("it sent a frame with a sequence number out of order"),
    Reason.UNEXPECTED_BYTES: Text("it sent bytes when no frame was due"),
    Reason.UNKNOWN_SAMPLE: Text("it named a sample that is not part of the piece"),
    Reason.TOO_SLOW: Text("it exceeded its time limit"),
    Reason.DISCONNECTED: Text("it closed its connection during the match"),
    Reason.CRASHED: Text("its process ended with an error"),
    Reason.OUT_OF_MEMORY: Text("it used more memory than the limit and was stopped"),
    Reason.INVALID_LABEL: Text("the model gave no valid label for the image"),
    Reason.INCONSISTENT: Text(
        "replayed images got other labels: the model is not a stateless, deterministic function of one image"
    ),
    Reason.ATTACK_RAISED: Text("the attack raised an exception on this sample"),
    Reason.NO_ADVERSARIAL: Text("the attack found no adversarial"),
    Reason.NOT_CONFIRMED: Text("none of the closest adversarials was confirmed by a verdict query"),
    Reason.MISCLASSIFIED: Text("the clean image already meets the criterion"),
}


@dataclass(frozen=True)
class Failure:
    """A failure of a player: its side, the reason, and details beyond the reason's own sentence."""

    side: Side
    reason: Reason
    detail: str = ""
    in_setup: bool = False

    def __str__(self) -> str:
        tail = f" ({self.detail})" if self.detail else ""
        return f"{self.side}: {self.reason}: {self.reason.text}{tail}"


@dataclass(frozen=True)
class SampleResult:
    """The result of one sample. Distances are L2 over pixels / 255; `seconds` is the sample's share of its piece.

    `found_label` is the model's label of the adversarial image, None if none was found.
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
    """Every charged query of a piece or match, in order: columns of equal length.

    `sample` is the one that the attack named, `charged` the one whose budget was charged, and `query` counts its
    queries. `label` is -1 if the model gave no valid one, -2 if the answer was withheld. `distance` is measured
    from the clean image of `sample`. Plots of accuracy against queries and against budget use it.
    """

    sample: NDArray[np.uint16]
    charged: NDArray[np.uint16]
    query: NDArray[np.uint32]
    label: NDArray[np.int16]
    distance: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.sample)


EQUAL_FRAMES_AT_MOST = 3
"""Number of labels of equal frames that may differ after a fresh start, whatever the length of a match."""

EQUAL_FRAMES_RATE = 0.003
"""What may differ beyond that, as a share of the images. A deterministic model differs in none; this leaves room for a
GPU model whose rounding flips one label in several hundred at the decision boundary."""


@dataclass(frozen=True)
class AuditReport:
    """The counts of an audit, which queries the model again, and their tolerances.

    The playing model was queried again with `replayed` images in other batches, and `changed` of them got another
    label; of `judged` verdict queries, `denied` images were no longer adversarial. After the match, a freshly started
    model is queried with `fresh_due` images in their original frames, and `fresh` of them are done; `fresh_changed` of
    these got another label, among them `fresh_unanswered` without an answer after two starts. It is then queried with
    `alone` images one by one, and `alone_changed` of them got another label. Each count has its own limit, so that none
    dilutes another.
    """

    replayed: int = 0
    changed: int = 0
    judged: int = 0
    denied: int = 0
    fresh_due: int = 0
    fresh: int = 0
    fresh_changed: int = 0
    fresh_unanswered: int = 0
    alone: int = 0
    alone_changed: int = 0

    @property
    def passed(self) -> bool:
        """True within each tolerance: 2 replays or lone images or 5 %, 3 verdicts or 10 %, and not `stateful`.

        In other company, rounding may flip labels at the decision boundary, where an attack sends many of its queries.
        """
        return (
            self.changed <= max(2, 0.05 * self.replayed)
            and self.alone_changed <= max(2, 0.05 * self.alone)
            and self.denied <= max(3, 0.10 * self.judged)
            and not self.stateful
        )

    @property
    def stateful(self) -> bool:
        """True if labels of equal frames differed after a fresh start.

        No attack can cause this for a model whose labels depend only on the frame. A GPU model needs deterministic
        kernels for that. The tolerance is a number and hardly a rate: the evidence of many pieces adds up, so that a
        model cannot lie more often in a longer match.
        """
        few = max(2, 0.05 * self.fresh)
        return self.fresh_changed > min(few, EQUAL_FRAMES_AT_MOST + EQUAL_FRAMES_RATE * self.fresh)

    @property
    def open(self) -> bool:
        """True if the queries to a freshly started model are incomplete: nothing may be scored before."""
        return self.fresh < self.fresh_due

    def __add__(self, other: AuditReport) -> AuditReport:
        counts = {name: count + getattr(other, name) for name, count in asdict(self).items()}
        return AuditReport(**counts)

    def __str__(self) -> str:
        unanswered = f" ({self.fresh_unanswered} of them without an answer)" if self.fresh_unanswered else ""
        return (
            f"{self.changed} of {self.replayed} replayed images got another label, {self.denied} of {self.judged} "
            f"verdicts were denied, {self.fresh_changed} of {self.fresh} labels changed after a fresh start{unanswered}"
            f", {self.alone_changed} of {self.alone} images queried alone got another label"
        )


def sum_reports(reports: Iterable[AuditReport]) -> AuditReport:
    """Return the audit of a match, the sum of those of its pieces."""
    return sum(reports, AuditReport())


def with_inconsistency(failures: Iterable[Failure], audit: AuditReport) -> tuple[Failure, ...]:
    """Return the failures of a match with that of its audit, if it did not pass."""
    return (*failures, *([] if audit.passed else [Failure(Side.MODEL, Reason.INCONSISTENT, str(audit))]))


@dataclass(frozen=True, eq=False)
class PieceResult:
    """The result of one piece, the unit that is committed. `perturbed` is (n, h, w, c): the scored image, or grey.

    `audit` and `failures` are those of this piece. With `kept`, the audit is open: a freshly started model is asked
    about these frames after the match, and `evaluation.referee.kept_frames.with_audit` gives the final result.
    """

    samples: tuple[SampleResult, ...]
    perturbed: Images
    trace: Trace
    seconds: float
    audit: AuditReport = field(default_factory=AuditReport)
    failures: tuple[Failure, ...] = ()
    kept: KeptFrames | None = None


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
