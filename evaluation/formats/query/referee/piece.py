"""One piece: a batch of samples of one match, from the clean images to the rows."""

from __future__ import annotations

import time

import numpy as np

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import Image, grey_image
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.kept_frames import KeptFrames, NearestAnswer
from evaluation.formats.query.referee.derived_seeds import derive_seed
from evaluation.formats.query.referee.match_players import PlayerFailedError
from evaluation.formats.query.referee.model_audit import Audit
from evaluation.formats.query.referee.query_exchange import Exchange, MatchContext
from evaluation.formats.query.referee.query_record import Candidate, is_adversarial
from evaluation.formats.query.referee.verdict_queries import Verdict, ask_or_none
from evaluation.formats.query.results import Failure, Outcome, PieceResult, RefereedSample
from evaluation.protocol.channel import ChannelError
from evaluation.scoring.distances import worst_case
from gauntlet import frames


class RefereedPiece:
    """One play of `samples`; `play` returns the result whatever the players do."""

    def __init__(
        self, context: MatchContext, samples: list[Sample], seed: int, own_seed: int, *, more: bool, keep: bool
    ) -> None:
        """Prepare a piece: the attack gets `seed`; the referee draws its audit from the secret `own_seed`.

        `more`: another piece follows. `keep`: frames are kept for an audit, whatever the context says.
        """
        self._context = context
        self._samples = samples
        self._seed = seed
        self._more = more
        self._keeps = keep or context.fresh_audit
        queries = len(samples) * context.rules.query_budget
        self._audit = Audit(derive_seed(own_seed, "audit"), len(samples) + queries)
        self._clean_label: dict[int, int] = {}
        self._clean_failure: Failure | None = None
        self._cut_short: Failure | None = None
        self._model_gone = False

    def play(self) -> PieceResult:
        """Play the piece and return its result. Failures of players are part of it; raise only `Fault`.

        1. Ask the model about the clean images while the attack is set up.
        2. Let the attack play.
        3. Reach the verdict.
        4. Write the rows.
        5. Keep frames for the audit by a freshly started model, which follows when this one no longer plays.
        """
        context = self._context
        started, answered = time.monotonic(), context.model.seconds
        context.model.begin_piece()
        context.attack.begin_piece()
        # 1. clean images
        if not context.attack.connected:
            context.attack.start_early()
        self._ask_clean()
        attackable = [s for s in self._samples if not self._is_clean_wrong(s)]
        if context.paths is not None:
            context.paths.follow(sample.number for sample in attackable)
        self._exchange = Exchange(context, attackable, self._audit)
        record = self._exchange.record
        # 2. play
        if attackable and not context.model.gone and not context.attack.gone:
            self._let_attack_play()
        elif context.attack.gone:
            self._cut_short = context.attack.failures[-1]
        self._release_attack()
        # 3. verdict
        verdict = Verdict(context.model, self._audit, attackable, context.track)
        verdict.reach(record)
        self._model_gone = context.model.gone
        if not self._audit.report.passed:
            verdict.accept_all(record)
        # 4. rows
        seconds = time.monotonic() - started
        rows = [self._row(s, verdict.accepted.get(s.number), seconds / len(self._samples)) for s in self._samples]
        # 5. frames for the audit
        kept = self._keep(attackable, verdict) if self._keeps and not self._model_gone else None
        return PieceResult(
            samples=tuple(row for row, _ in rows),
            perturbed=np.stack([image for _, image in rows]),
            trace=record.trace(),
            seconds=seconds,
            audit=self._audit.report,
            failures=(*context.model.failures, *context.attack.failures),
            kept=kept,
            model_seconds=context.model.seconds - answered,
        )

    def _keep(self, attackable: list[Sample], verdict: Verdict) -> KeptFrames | None:
        """Return what the audit by a freshly started model needs; None where the attack asked nothing."""
        frames = self._audit.fresh_frames()
        if not frames:
            return None
        nearest = [
            NearestAnswer(
                sample=sample.number,
                image=candidates[0].image,
                label=candidates[0].label,
                distance=_distance(candidates[0], worst_case(sample.image)),
            )
            for sample in attackable
            if (candidates := self._exchange.record.candidates[sample.number])
            and candidates[0] is not verdict.accepted.get(sample.number)
        ]
        return KeptFrames(frames, self._audit.alone(), tuple(nearest))

    def _release_attack(self) -> None:
        """End the attack's process with its piece, so that it cannot carry anything into the next one.

        The next process starts only now: while the attack plays, it could slow the model down.
        """
        if not self._context.reuse_attack:
            self._context.attack.renew()
            if self._more:
                self._context.attack.start_early()

    def _ask_clean(self) -> None:
        context = self._context
        images = np.stack([sample.image.reshape(-1) for sample in self._samples])
        labels = None if context.model.gone else ask_or_none(context.model, images)
        if labels is None:
            self._clean_failure = context.model.failures[-1]
            labels = [frames.UNCLASSIFIED] * len(self._samples)
        else:
            self._audit.watch(images, labels, [0.0] * len(labels), whole=False)
        self._clean_label = {sample.number: label for sample, label in zip(self._samples, labels, strict=True)}
        if context.paths is not None:
            context.paths.clean_labels.update(self._clean_label)

    def _is_clean_wrong(self, sample: Sample) -> bool:
        return is_adversarial(self._clean_label[sample.number], sample, self._context.track)

    def _let_attack_play(self) -> None:
        attack = self._context.attack
        try:
            fresh = not attack.connected
            channel = attack.channel()
            if fresh:
                self._context.sequence, self._context.last_reply = 0, None
            self._exchange.run(channel, self._seed)
        except ChannelError as error:
            self._cut_short = attack.fail(error).failure
        except PlayerFailedError as failed:
            self._cut_short = failed.failure

    def _row(self, sample: Sample, accepted: Candidate | None, seconds: float) -> tuple[RefereedSample, Image]:
        """Return the row of one sample and the image that was scored."""
        worst = worst_case(sample.image)
        outcome, distance, reason, image = self._judge(sample, accepted, worst)
        budget = self._exchange.budget
        used = budget.used(sample.number) if sample.number in budget else 0
        row = RefereedSample(
            sample=sample.number,
            label=sample.label,
            target=sample.target if self._context.track is TrackName.TARGETED else None,
            outcome=outcome,
            distance=distance,
            worst_case=worst,
            queries=used,
            seconds=seconds,
            reason=reason,
            found_label=accepted.label if outcome is Outcome.ADVERSARIAL and accepted else None,
        )
        return row, image.reshape(sample.image.shape)

    def _judge(
        self, sample: Sample, accepted: Candidate | None, worst: float
    ) -> tuple[Outcome, float, Reason | None, Image]:
        if self._is_clean_wrong(sample):
            unclassified = self._clean_label[sample.number] == frames.UNCLASSIFIED
            reason = Reason.INVALID_LABEL if unclassified else Reason.MISCLASSIFIED
            if self._clean_failure is not None:
                reason = self._clean_failure.reason
            return Outcome.CLEAN_WRONG, 0.0, reason, sample.image
        if accepted is not None:
            distance = _distance(accepted, worst)
            return Outcome.ADVERSARIAL, distance, self._reason_of_found(accepted), accepted.image
        if self._model_gone:
            # the model is gone and no adversarial was found: its clean image is not classified either
            return Outcome.CLEAN_WRONG, 0.0, self._context.model.failures[-1].reason, sample.image
        return Outcome.FAILED, worst, self._reason_of_failed(sample), grey_image(self._context.rules.shape)

    def _reason_of_found(self, accepted: Candidate) -> Reason | None:
        if not self._audit.report.passed:
            return Reason.INCONSISTENT
        if accepted.failure is not None:
            return accepted.failure.reason
        if accepted.label == frames.UNCLASSIFIED:
            return Reason.INVALID_LABEL
        return self._cut_short.reason if self._cut_short else None

    def _reason_of_failed(self, sample: Sample) -> Reason:
        if self._exchange.record.candidates[sample.number]:
            return Reason.NOT_CONFIRMED
        if self._cut_short:
            return self._cut_short.reason
        return Reason.ATTACK_RAISED if sample.number in self._exchange.raised else Reason.NO_ADVERSARIAL


def _distance(candidate: Candidate, worst: float) -> float:
    return min(float(candidate.squared**0.5 / 255.0), worst)
