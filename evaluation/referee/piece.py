"""One piece: a batch of samples of one match, from the clean images to the rows."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from evaluation.domain.images import Image, Images, grey_image
from evaluation.domain.players import Track
from evaluation.domain.results import Failure, Outcome, PieceResult, Reason, SampleResult
from evaluation.domain.rules import QueryRules
from evaluation.domain.samples import Sample
from evaluation.protocol.channel import Channel, ChannelError, Frame, Layout
from evaluation.referee.attribution import Attribution
from evaluation.referee.audit import Audit
from evaluation.referee.budget import Budget
from evaluation.referee.fresh_instances import ask_fresh_model, restart_place
from evaluation.referee.pixel_differences import PixelDifferences
from evaluation.referee.players import ConnectedPlayer, Model, PlayerFailedError
from evaluation.referee.query_record import Candidate, QueryRecord, is_adversarial
from evaluation.referee.seeds import derive_seed
from evaluation.referee.time_limits import TimeBank
from evaluation.referee.verdict import Verdict, ask_or_none
from evaluation.scoring.distances import worst_case
from gauntlet import frames


@dataclass
class MatchContext:
    """The state that all pieces of a match share. `sequence` is the last number that the attack used."""

    rules: QueryRules
    track: Track
    model: Model
    attack: ConnectedPlayer
    fresh_audit: bool
    reuse_attack: bool
    sequence: int = 0
    last_reply: tuple[bytes, bytes] | None = None


class Piece:
    """One play of `samples`; `play` returns the result whatever the players do."""

    def __init__(
        self, context: MatchContext, samples: list[Sample], seed: int, own_seed: int, *, restart: bool, more: bool
    ) -> None:
        """Prepare a piece: the attack gets `seed`; the referee draws its audit and restart from the secret `own_seed`.

        `restart`: restart the model at a random place while the attack plays. `more`: another piece follows.
        """
        self._context = context
        self._samples = samples
        self._seed = seed
        self._more = more
        queries = len(samples) * context.rules.query_budget
        self._audit = Audit(derive_seed(own_seed, "audit"), len(samples) + queries)
        self._restart_at = restart_place(derive_seed(own_seed, "restart"), queries) if restart else None
        self._forwarded = 0
        self._clean_label: dict[int, int] = {}
        self._clean_failure: Failure | None = None
        self._raised: set[int] = set()
        self._cut_short: Failure | None = None
        self._model_gone = False

    def play(self) -> PieceResult:
        """Play the piece and return its result. Failures of players are part of it; raise only `Fault`.

        1. Ask the model about the clean images while the attack is set up.
        2. Let the attack play.
        3. Reach the verdict.
        4. Audit the model on an instance that has seen nothing of this piece.
        5. Write the rows.
        """
        context = self._context
        started = time.monotonic()
        context.model.begin_piece()
        context.attack.begin_piece()
        # 1. clean images
        if not context.attack.connected:
            context.attack.start_early()
        self._ask_clean()
        attackable = [s for s in self._samples if not self._is_clean_wrong(s)]
        self._budget = Budget([s.number for s in attackable], context.rules.query_budget)
        self._record = QueryRecord(attackable, context.track, context.rules.query_budget)
        self._differences = PixelDifferences(attackable, context.rules.shape)
        self._attribution = Attribution(attackable, self._differences)
        # 2. play
        if attackable and not context.model.gone and not context.attack.gone:
            self._let_attack_play(attackable)
        elif context.attack.gone:
            self._cut_short = context.attack.failures[-1]
        self._release_attack()
        if self._restart_at is not None and not context.model.gone:
            with suppress(PlayerFailedError):  # the verdict handles the failure
                self._restart_model()
        # 3. verdict
        verdict = Verdict(context.model, self._audit, attackable, context.track)
        verdict.reach(self._record)
        self._model_gone = context.model.gone
        # 4. audit by a fresh instance
        if context.fresh_audit and not self._model_gone:
            ask_fresh_model(context.model, self._audit)
        if not self._audit.report.passed:
            verdict.accept_all(self._record)
        seconds = time.monotonic() - started
        rows = [self._row(s, verdict.accepted.get(s.number), seconds / len(self._samples)) for s in self._samples]
        return PieceResult(
            samples=tuple(row for row, _ in rows),
            perturbed=np.stack([image for _, image in rows]),
            trace=self._record.trace(),
            seconds=seconds,
            audit=self._audit.report,
            failures=(*context.model.failures, *context.attack.failures),
        )

    def _release_attack(self) -> None:
        """End the attack's process with its piece, so that it cannot carry anything into the next one.

        The next process starts only now: while the attack plays, it could slow the model down.
        """
        if not self._context.reuse_attack:
            self._context.attack.renew()
            if self._more:
                self._context.attack.start_early()

    def _restart_model(self) -> None:
        """Continue with another instance of the model, which has seen nothing. Raise `PlayerFailedError`."""
        self._restart_at = None
        self._context.model.renew()
        self._context.model.channel()
        self._context.model.start_early()  # the instance for the audit

    def _start_ahead(self) -> None:
        """Start the model instance for the audit in the background."""
        if self._context.fresh_audit:
            self._context.model.start_early()

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

    def _is_clean_wrong(self, sample: Sample) -> bool:
        return is_adversarial(self._clean_label[sample.number], sample, self._context.track)

    def _let_attack_play(self, attackable: list[Sample]) -> None:
        attack = self._context.attack
        try:
            fresh = not attack.connected
            channel = attack.channel()
            if fresh:
                self._context.sequence, self._context.last_reply = 0, None
            self._exchange(channel, attackable)
        except ChannelError as error:
            self._cut_short = attack.fail(error).failure
        except PlayerFailedError as failed:
            self._cut_short = failed.failure

    def _exchange(self, channel: Channel, attackable: list[Sample]) -> None:
        """Send the piece and answer queries until FINISH. Raise `ChannelError` (attack) or `PlayerFailedError`."""
        rules = self._context.rules
        bank = TimeBank(rules.attack_seconds_per_sample * len(attackable) * self._context.attack.calibration)
        self._send_piece(channel, attackable, bank)
        self._start_ahead()
        image_bytes = rules.shape.size
        due = {
            frames.QUERY: Layout(1, frames.MAX_COUNT, 0, 2 + image_bytes),
            frames.FINISH: Layout(0, frames.MAX_COUNT, 0, frames.FINISH_SAMPLE.size),
        }
        while True:
            waiting_since = time.monotonic()
            frame = channel.receive(due, waiting_since + bank.left)
            bank.used += time.monotonic() - waiting_since
            reply = self._repeated(frame)
            if reply is None:
                if frame.sequence != self._context.sequence + 1:
                    expected = self._context.sequence + 1
                    raise ChannelError(Reason.BAD_SEQUENCE, f"sequence {frame.sequence}, expected {expected}")
                self._context.sequence, self._context.last_reply = frame.sequence, None
                if frame.type == frames.FINISH:
                    self._read_statuses(frame)
                    return
                reply = self._context.last_reply = self._answer(frame)
            answered_at = time.monotonic()
            channel.send(frames.ANSWERS, frame.count, frame.sequence, *reply, deadline=answered_at + bank.left)
            bank.used += time.monotonic() - answered_at

    def _repeated(self, frame: Frame) -> tuple[bytes, bytes] | None:
        """Return the last reply where this frame repeats the last query: it is sent again and not charged twice."""
        last = self._context.last_reply
        if last is None or frame.type != frames.QUERY or frame.sequence != self._context.sequence:
            return None
        return last if len(last[0]) == 2 * frame.count else None

    def _send_piece(self, channel: Channel, attackable: list[Sample], bank: TimeBank) -> None:
        targeted = self._context.track is Track.TARGETED
        parts = [frames.PIECE_PAYLOAD.pack(self._seed, min(int(bank.left * 1000), 0xFFFFFFFF), 0)]
        for sample in attackable:
            if targeted and sample.target is None:
                raise ValueError(f"sample {sample.number} has no target class")
            label, target = (-1, sample.target) if targeted else (sample.label, -1)
            parts.append(frames.PIECE_SAMPLE.pack(sample.number, label, target, 0))
        parts += [sample.image.tobytes() for sample in attackable]
        channel.send(frames.PIECE, len(attackable), 0, b"".join(parts), deadline=time.monotonic() + bank.left)

    def _answer(self, frame: Frame) -> tuple[bytes, bytes]:
        """Return the payload of ANSWERS for one QUERY: charge, forward and note it."""
        count = frame.count
        numbers = struct.unpack_from(f"<{count}H", frame.payload)
        first_unknown = self._budget.first_unknown(numbers)
        if first_unknown is not None:
            raise ChannelError(Reason.UNKNOWN_SAMPLE, f"sample {first_unknown} is not part of this piece")
        ordinals = self._budget.charge(numbers)
        pixels = frame.payload[2 * count :]
        if 0 not in ordinals:
            labels = self._forward(numbers, ordinals, pixels)
        else:
            labels = self._forward_granted(numbers, ordinals, pixels)
        return struct.pack(f"<{count}h", *labels), struct.pack(f"<{count}I", *self._budget.left(numbers))

    def _forward_granted(self, numbers: tuple[int, ...], ordinals: list[int], pixels: memoryview) -> list[int]:
        """Forward the images that the budget still covers; answer EXHAUSTED for the others."""
        granted = [i for i, ordinal in enumerate(ordinals) if ordinal]
        labels = [frames.EXHAUSTED] * len(numbers)
        if granted:
            images = np.frombuffer(pixels, np.uint8).reshape(len(numbers), -1)[granted]
            answers = self._forward([numbers[i] for i in granted], [ordinals[i] for i in granted], images.tobytes())
            for i, label in zip(granted, answers, strict=True):
                labels[i] = label
        return labels

    def _forward(
        self, numbers: tuple[int, ...] | list[int], ordinals: list[int], pixels: memoryview | bytes
    ) -> list[int]:
        """Return the labels that the attack learns of charged images; attribute queries while the model works."""
        context = self._context
        count = len(numbers)
        images: Images = np.frombuffer(pixels, np.uint8).reshape(count, -1)
        failed: PlayerFailedError | None = None
        squared: list[float] | None = None
        self._forwarded += count
        try:
            if self._restart_is_due():
                self._restart_model()
            context.model.ask(count, pixels)
            squared = self._differences.squared_of(numbers, images)
            owners = self._attribution.owners(numbers, images, squared)
            labels = context.model.labels(count)
        except PlayerFailedError as failure:
            failed, labels = failure, [frames.UNCLASSIFIED] * count
        if squared is None:
            squared = self._differences.squared_of(numbers, images)
            owners = self._attribution.owners(numbers, images, squared)
        answers = labels
        payers: Sequence[int] = numbers
        if owners != list(numbers):
            charges = self._budget.settle(numbers, owners)
            payers, ordinals = [charge.payer for charge in charges], [charge.ordinal for charge in charges]
            answers = [
                label if charge.answered else frames.EXHAUSTED for label, charge in zip(labels, charges, strict=True)
            ]
        self._record.add(
            numbers, payers, ordinals, images, answers, squared, failure=failed.failure if failed else None
        )
        if failed is not None and failed.final:
            raise failed
        if failed is None:
            self._audit.watch(images, labels, squared)
        return answers

    def _restart_is_due(self) -> bool:
        """True if the random place of the restart is reached and the new instance is ready."""
        due = self._restart_at is not None and self._forwarded >= self._restart_at
        return due and self._context.model.early_start_is_ready

    def _read_statuses(self, frame: Frame) -> None:
        for number, status in frames.FINISH_SAMPLE.iter_unpack(frame.payload):
            if number not in self._budget:
                raise ChannelError(Reason.UNKNOWN_SAMPLE, f"sample {number} is not part of this piece")
            if status == frames.STATUS_RAISED:
                self._raised.add(number)

    def _row(self, sample: Sample, accepted: Candidate | None, seconds: float) -> tuple[SampleResult, Image]:
        """Return the row of one sample and the image that was scored."""
        worst = worst_case(sample.image)
        outcome, distance, reason, image = self._judge(sample, accepted, worst)
        used = self._budget.used(sample.number) if sample.number in self._budget else 0
        row = SampleResult(
            sample=sample.number,
            label=sample.label,
            target=sample.target if self._context.track is Track.TARGETED else None,
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
            distance = min(float(accepted.squared**0.5 / 255.0), worst)
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
        if self._record.candidates[sample.number]:
            return Reason.NOT_CONFIRMED
        if self._cut_short:
            return self._cut_short.reason
        return Reason.ATTACK_RAISED if sample.number in self._raised else Reason.NO_ADVERSARIAL
