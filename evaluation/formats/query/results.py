"""Results of a match: an outcome for each sample, and the named reasons for failures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import Images
from evaluation.domain.players import Side
from evaluation.formats.query.kept_frames import KeptFrames
from evaluation.formats.query.rules import QueryRules


class Outcome(StrEnum):
    """The outcome of one sample."""

    ADVERSARIAL = "adversarial"
    FAILED = "failed"
    CLEAN_WRONG = "clean_wrong"


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
class RefereedSample:
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

    In `model_seconds` of its `seconds` the model answered.
    `audit` and `failures` are those of this piece. With `kept`, the audit is open: a freshly started model is asked
    about these frames after the match, and `with_audit` of `referee.kept_frames` gives the final result.
    """

    samples: tuple[RefereedSample, ...]
    perturbed: Images
    trace: Trace
    seconds: float
    audit: AuditReport = field(default_factory=AuditReport)
    failures: tuple[Failure, ...] = ()
    kept: KeptFrames | None = None
    model_seconds: float = 0.0


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
    def samples(self) -> tuple[RefereedSample, ...]:
        return tuple(row for piece in self.pieces for row in piece.samples)
