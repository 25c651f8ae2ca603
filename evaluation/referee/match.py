"""One match: one attack against one model over a sample set, piece by piece."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from evaluation.domain.players import Side, Track
from evaluation.domain.results import AuditReport, Failure, PieceResult, Reason
from evaluation.domain.rules import QueryRules
from evaluation.domain.samples import Sample
from evaluation.referee.audit import Audit
from evaluation.referee.piece import Piece, Table
from evaluation.referee.players import Contestant, Model
from evaluation.referee.seat import Seat
from evaluation.referee.verdict import ask_or_none


def derive_seed(seed: int, *parts: object) -> int:
    """A 64-bit seed for one use, from the match's seed; different uses never share a stream."""
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


class Match:
    """Holds both players over all pieces, so that containers and weights stay warm. Close it, whatever happens."""

    def __init__(
        self,
        *,
        rules: QueryRules,
        track: Track,
        model: Seat,
        attack: Seat,
        seed: int,
        calibration: float = 1.0,
    ) -> None:
        """`calibration`: this worker's factor on every time limit, see `evaluation.referee.clock`."""
        self._rules = rules
        self._seed = seed
        self._track = track
        self._table = Table(
            rules=rules,
            track=track,
            model=Model(model, track, rules, calibration),
            attack=Contestant(Side.ATTACK, attack, track, rules, calibration),
            audit=Audit(derive_seed(seed, "audit")),
        )

    def play(self, samples: Sequence[Sample]) -> Iterator[PieceResult]:
        """Play `samples` in pieces of the rules' size; each result is final when it is yielded."""
        if len({sample.number for sample in samples}) < len(samples):
            raise ValueError("two samples have the same number")
        size = self._rules.piece_samples
        for start in range(0, len(samples), size):
            yield self.play_piece(list(samples[start : start + size]))

    def play_piece(self, samples: list[Sample]) -> PieceResult:
        """Play one piece. Its seed depends on its first sample alone, not on what was played before."""
        return Piece(self._table, samples, derive_seed(self._seed, "piece", samples[0].number)).play()

    def ask_fresh_model(self) -> None:
        """The second half of the audit: a freshly started model is asked again about what the match kept.

        It has seen nothing yet: what a model makes of earlier images, times or orders is missing there and shows.
        """
        table = self._table
        replays = table.audit.take_fresh()
        if table.model.gone or not replays:
            return
        table.model.leave()
        half = len(replays) // 2
        alone, together = replays[:half], replays[half:]
        for part in [[replay] for replay in alone] + [together[i : i + 8] for i in range(0, len(together), 8)]:
            labels = ask_or_none(table.model, np.stack([replay.image for replay in part]))
            if labels is None:
                return  # its failure has a name of its own
            for replay, label in zip(part, labels, strict=True):
                table.audit.count_fresh(replay.label, label)

    @property
    def audit(self) -> AuditReport:
        """How the audit stands."""
        return self._table.audit.report

    @property
    def model_seconds_per_image(self) -> float:
        """The mean time that the model took for an image, transport included; 0 where it was never asked."""
        model = self._table.model
        return model.seconds / model.images if model.images else 0.0

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Everything the players did wrong so far."""
        failures = (*self._table.model.failures, *self._table.attack.failures)
        if self.audit.passed:
            return failures
        return (*failures, Failure(Side.MODEL, Reason.INCONSISTENT, str(self.audit)))

    def close(self) -> None:
        """End both players."""
        try:
            self._table.attack.leave()
        finally:
            self._table.model.leave()
