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
from evaluation.referee.clock import TimeBank
from evaluation.referee.fresh_start import ask_fresh_model, restart_place
from evaluation.referee.pixel_differences import PixelDifferences
from evaluation.referee.players import ConnectedPlayer, Model, PlayerFailedError
from evaluation.referee.query_record import Candidate, QueryRecord, is_adversarial
from evaluation.referee.seeds import derive_seed
from evaluation.referee.verdict import Verdict, ask_or_none
from evaluation.scoring.distances import worst_case
from gauntlet import frames


@dataclass
class MatchContext:
    """What all pieces of a match share. `sequence` is the last one the attack used."""

    rules: QueryRules
    track: Track
    model: Model
    attack: ConnectedPlayer
    fresh_audit: bool
    reuse_attack: bool
    sequence: int = 0
    last_reply: tuple[bytes, bytes] | None = None


class Piece:
    """Plays `samples` once; `play` gives the result whatever the players do."""

    def __init__(
        self, table: MatchContext, samples: list[Sample], seed: int, own_seed: int, *, restart: bool, more: bool
    ) -> None:
        """`seed` is told to the attack; from `own_seed`, which nobody is told, the referee draws its audit and restart.

        `restart`: the model is started afresh at a random place while the attack plays. `more`: a piece follows.
        """
        self._table = table
        self._samples = samples
        self._seed = seed
        self._more = more
        queries = len(samples) * table.rules.query_budget
        self._audit = Audit(derive_seed(own_seed, "audit"), len(samples) + queries)
        self._restart_at = restart_place(derive_seed(own_seed, "restart"), queries) if restart else None
        self._forwarded = 0
        self._clean_label: dict[int, int] = {}
        self._clean_failure: Failure | None = None
        self._raised: set[int] = set()
        self._cut_short: Failure | None = None
        self._model_gone = False

    def play(self) -> PieceResult:
        """Ask about the clean images, let the attack play, reach the verdict, audit the model, write the rows.

        Raises `Fault` alone; what players do wrong is in the result.
        """
        table = self._table
        started = time.monotonic()
        table.model.begin_piece()
        table.attack.begin_piece()
        # 1. the clean images, while the attack is set up
        if not table.attack.connected:
            table.attack.start_early()
        self._ask_clean()
        attackable = [s for s in self._samples if not self._is_clean_wrong(s)]
        self._budget = Budget([s.number for s in attackable], table.rules.query_budget)
        self._record = QueryRecord(attackable, table.track, table.rules.query_budget)
        self._differences = PixelDifferences(attackable, table.rules.shape)
        self._attribution = Attribution(attackable, self._differences)
        # 2. the attack
        if attackable and not table.model.gone and not table.attack.gone:
            self._let_attack_play(attackable)
        elif table.attack.gone:
            self._cut_short = table.attack.failures[-1]
        self._release_attack()
        if self._restart_at is not None and not table.model.gone:
            with suppress(PlayerFailedError):  # the verdict meets it again
                self._restart_model()
        # 3. the verdict
        verdict = Verdict(table.model, self._audit, attackable, table.track)
        verdict.reach(self._record)
        self._model_gone = table.model.gone
        # 4. the second half of the audit, on an instance that has seen nothing of this piece
        if table.fresh_audit and not self._model_gone:
            ask_fresh_model(table.model, self._audit)
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
            failures=(*table.model.failures, *table.attack.failures),
        )

    def _release_attack(self) -> None:
        """End the attack's process with its piece, so that it can carry nothing into the next.

        The next one starts only now: while the attack plays, a second process of it could slow the model down.
        """
        if not self._table.reuse_attack:
            self._table.attack.renew()
            if self._more:
                self._table.attack.start_early()

    def _restart_model(self) -> None:
        """Have the model play on as another instance, which has seen nothing. Raises `PlayerFailedError`."""
        self._restart_at = None
        self._table.model.renew()
        self._table.model.channel()
        self._table.model.start_early()  # the one for the audit

    def _start_ahead(self) -> None:
        """Start, in the background, the instance of the model that the audit will need."""
        if self._table.fresh_audit:
            self._table.model.start_early()

    def _ask_clean(self) -> None:
        table = self._table
        images = np.stack([sample.image.reshape(-1) for sample in self._samples])
        labels = None if table.model.gone else ask_or_none(table.model, images)
        if labels is None:
            self._clean_failure = table.model.failures[-1]
            labels = [frames.UNCLASSIFIED] * len(self._samples)
        else:
            self._audit.watch(images, labels, [0.0] * len(labels), whole=False)
        self._clean_label = {sample.number: label for sample, label in zip(self._samples, labels, strict=True)}

    def _is_clean_wrong(self, sample: Sample) -> bool:
        return is_adversarial(self._clean_label[sample.number], sample, self._table.track)

    def _let_attack_play(self, attackable: list[Sample]) -> None:
        attack = self._table.attack
        try:
            fresh = not attack.connected
            channel = attack.channel()
            if fresh:
                self._table.sequence, self._table.last_reply = 0, None
            self._exchange(channel, attackable)
        except ChannelError as error:
            self._cut_short = attack.fail(error).failure
        except PlayerFailedError as failed:
            self._cut_short = failed.failure

    def _exchange(self, channel: Channel, attackable: list[Sample]) -> None:
        """Send the piece, answer queries until FINISH. Raises `ChannelError` (attack) or `PlayerFailedError`."""
        rules = self._table.rules
        bank = TimeBank(rules.attack_seconds_per_sample * len(attackable) * self._table.attack.calibration)
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
                if frame.sequence != self._table.sequence + 1:
                    expected = self._table.sequence + 1
                    raise ChannelError(Reason.BAD_SEQUENCE, f"sequence {frame.sequence}, expected {expected}")
                self._table.sequence, self._table.last_reply = frame.sequence, None
                if frame.type == frames.FINISH:
                    self._read_statuses(frame)
                    return
                reply = self._table.last_reply = self._answer(frame)
            answered_at = time.monotonic()
            channel.send(frames.ANSWERS, frame.count, frame.sequence, *reply, deadline=answered_at + bank.left)
            bank.used += time.monotonic() - answered_at

    def _repeated(self, frame: Frame) -> tuple[bytes, bytes] | None:
        """The last reply, where this is the last query again: it is sent again and not charged twice."""
        last = self._table.last_reply
        if last is None or frame.type != frames.QUERY or frame.sequence != self._table.sequence:
            return None
        return last if len(last[0]) == 2 * frame.count else None

    def _send_piece(self, channel: Channel, attackable: list[Sample], bank: TimeBank) -> None:
        targeted = self._table.track is Track.TARGETED
        parts = [frames.PIECE_PAYLOAD.pack(self._seed, min(int(bank.left * 1000), 0xFFFFFFFF), 0)]
        for sample in attackable:
            if targeted and sample.target is None:
                raise ValueError(f"sample {sample.number} has no target class")
            label, target = (-1, sample.target) if targeted else (sample.label, -1)
            parts.append(frames.PIECE_SAMPLE.pack(sample.number, label, target, 0))
        parts += [sample.image.tobytes() for sample in attackable]
        channel.send(frames.PIECE, len(attackable), 0, b"".join(parts), deadline=time.monotonic() + bank.left)

    def _answer(self, frame: Frame) -> tuple[bytes, bytes]:
        """Charge, forward, note: the payload of ANSWERS for one QUERY."""
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
        """Forward only what the budget still covers; the rest is answered EXHAUSTED."""
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
        """What the attack learns of charged images. Whose query each is, is found out while the model works."""
        table = self._table
        count = len(numbers)
        images: Images = np.frombuffer(pixels, np.uint8).reshape(count, -1)
        failed: PlayerFailedError | None = None
        squared: list[float] | None = None
        self._forwarded += count
        try:
            if self._restart_is_due():
                self._restart_model()
            table.model.ask(count, pixels)
            squared = self._differences.squared_of(numbers, images)
            owners = self._attribution.owners(numbers, images, squared)
            labels = table.model.labels(count)
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
        """Whether the random place of the restart is reached, and nobody has to wait for the new instance."""
        due = self._restart_at is not None and self._forwarded >= self._restart_at
        return due and self._table.model.early_start_is_ready

    def _read_statuses(self, frame: Frame) -> None:
        for number, status in frames.FINISH_SAMPLE.iter_unpack(frame.payload):
            if number not in self._budget:
                raise ChannelError(Reason.UNKNOWN_SAMPLE, f"sample {number} is not part of this piece")
            if status == frames.STATUS_RAISED:
                self._raised.add(number)

    def _row(self, sample: Sample, accepted: Candidate | None, seconds: float) -> tuple[SampleResult, Image]:
        """The row of one sample and the image that was scored."""
        worst = worst_case(sample.image)
        outcome, distance, reason, image = self._judge(sample, accepted, worst)
        used = self._budget.used(sample.number) if sample.number in self._budget else 0
        row = SampleResult(
            sample=sample.number,
            label=sample.label,
            target=sample.target if self._table.track is Track.TARGETED else None,
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
            # not one adversarial before the model ended for good: its clean image is not classified either
            return Outcome.CLEAN_WRONG, 0.0, self._table.model.failures[-1].reason, sample.image
        return Outcome.FAILED, worst, self._reason_of_failed(sample), grey_image(self._table.rules.shape)

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
