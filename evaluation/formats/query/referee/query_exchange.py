"""The queries of an attack in one piece: each is charged, forwarded, answered and noted."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import Images
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.match_players import ConnectedPlayer, Model, PlayerFailedError
from evaluation.formats.query.referee.model_audit import Audit
from evaluation.formats.query.referee.query_attribution import Attribution
from evaluation.formats.query.referee.query_budget import Budget
from evaluation.formats.query.referee.query_paths import QueryPaths
from evaluation.formats.query.referee.query_record import QueryRecord
from evaluation.formats.query.referee.squared_distances import PixelDifferences
from evaluation.formats.query.results import Failure
from evaluation.formats.query.rules import QueryRules
from evaluation.protocol.channel import Channel, ChannelError, Layout, ReceivedFrame
from evaluation.protocol.time_bank import TimeBank
from gauntlet import frames


@dataclass
class MatchContext:
    """The state that all pieces of a match share. `sequence` is the last number that the attack used."""

    rules: QueryRules
    track: TrackName
    model: Model
    attack: ConnectedPlayer
    fresh_audit: bool
    reuse_attack: bool
    paths: QueryPaths | None = None
    sequence: int = 0
    last_reply: tuple[bytes, bytes] | None = None
    attack_seconds_per_sample: float = 0.0
    """The attack's own seconds for a sample in the piece that took it the longest."""


@dataclass(eq=False, slots=True)
class _Forwarded:
    """One forwarded frame: what the record and the audit note of it. `images` is a view of the attack's buffer."""

    numbers: Sequence[int]
    payers: Sequence[int]
    ordinals: Sequence[int]
    images: Images
    labels: list[int]
    answers: list[int]
    squared: list[float]
    failure: Failure | None


class Exchange:
    """The samples under attack, their budgets, and the record of the queries."""

    def __init__(self, context: MatchContext, attackable: list[Sample], audit: Audit) -> None:
        """Prepare for queries of the samples `attackable`."""
        self._context = context
        self._attackable = attackable
        self._audit = audit
        self.budget = Budget([s.number for s in attackable], context.rules.query_budget)
        self.record = QueryRecord(attackable, context.track, context.rules.query_budget, context.paths)
        self.raised: set[int] = set()
        """The samples on which the attack raised an exception."""
        self._differences = PixelDifferences(attackable, context.rules.shape)
        self._attribution = Attribution(attackable, self._differences)

    def run(self, channel: Channel, seed: int) -> None:
        """Send the piece, and answer queries until FINISH.

        Raise `ChannelError` where the attack fails, `PlayerFailedError` where the model does for good.
        """
        context, count = self._context, len(self._attackable)
        bank = TimeBank(context.rules.attack_seconds_per_sample * count * context.attack.calibration)
        try:
            self._answer_all(channel, seed, bank)
        finally:
            context.attack_seconds_per_sample = max(context.attack_seconds_per_sample, bank.used / count)

    def _answer_all(self, channel: Channel, seed: int, bank: TimeBank) -> None:
        rules = self._context.rules
        self._send_piece(channel, seed, bank)
        due = {
            frames.QUERY: Layout(1, frames.MAX_COUNT, 0, 2 + rules.shape.size),
            frames.FINISH: Layout(0, frames.MAX_COUNT, 0, frames.FINISH_SAMPLE.size),
        }
        while True:
            waiting_since = time.monotonic()
            try:
                frame = channel.receive(due, waiting_since + bank.left)
            finally:
                bank.used += time.monotonic() - waiting_since
            forwarded: _Forwarded | None = None
            reply = self._repeated(frame)
            if reply is None:
                if frame.sequence != self._context.sequence + 1:
                    expected = self._context.sequence + 1
                    raise ChannelError(Reason.BAD_SEQUENCE, f"sequence {frame.sequence}, expected {expected}")
                self._context.sequence, self._context.last_reply = frame.sequence, None
                if frame.type == frames.FINISH:
                    self._read_statuses(frame)
                    return
                reply, forwarded = self._answer(frame)
                self._context.last_reply = reply
            answered_at = time.monotonic()
            try:
                channel.send(frames.ANSWERS, frame.count, frame.sequence, *reply, deadline=answered_at + bank.left)
                bank.used += time.monotonic() - answered_at
            finally:
                if forwarded is not None:  # noted only now: the attack does not wait for it
                    self._note(forwarded)

    def _repeated(self, frame: ReceivedFrame) -> tuple[bytes, bytes] | None:
        """Return the last reply where this frame repeats the last query: it is sent again and not charged twice."""
        last = self._context.last_reply
        if last is None or frame.type != frames.QUERY or frame.sequence != self._context.sequence:
            return None
        return last if len(last[0]) == 2 * frame.count else None

    def _send_piece(self, channel: Channel, seed: int, bank: TimeBank) -> None:
        targeted = self._context.track is TrackName.TARGETED
        parts = [frames.PIECE_PAYLOAD.pack(seed, min(int(bank.left * 1000), 0xFFFFFFFF), 0)]
        for sample in self._attackable:
            if targeted and sample.target is None:
                raise ValueError(f"sample {sample.number} has no target class")
            label, target = (-1, sample.target) if targeted else (sample.label, -1)
            parts.append(frames.PIECE_SAMPLE.pack(sample.number, label, target, 0))
        parts += [sample.image.tobytes() for sample in self._attackable]
        deadline = time.monotonic() + bank.left
        channel.send(frames.PIECE, len(self._attackable), 0, b"".join(parts), deadline=deadline)

    def _answer(self, frame: ReceivedFrame) -> tuple[tuple[bytes, bytes], _Forwarded | None]:
        """Charge and forward one QUERY. Return the payload of ANSWERS, and what is to be noted."""
        count = frame.count
        numbers = struct.unpack_from(f"<{count}H", frame.payload)
        first_unknown = self.budget.first_unknown(numbers)
        if first_unknown is not None:
            raise ChannelError(Reason.UNKNOWN_SAMPLE, f"sample {first_unknown} is not part of this piece")
        ordinals = self.budget.charge(numbers)
        forwarded: _Forwarded | None
        pixels = frame.payload[2 * count :]
        if 0 not in ordinals:
            whole = self._forward(numbers, ordinals, pixels)
            labels, forwarded = whole.answers, whole
        else:
            labels, forwarded = self._forward_granted(numbers, ordinals, pixels)
        reply = struct.pack(f"<{count}h", *labels), struct.pack(f"<{count}I", *self.budget.left(numbers))
        return reply, forwarded

    def _forward_granted(
        self, numbers: Sequence[int], ordinals: list[int], pixels: memoryview
    ) -> tuple[list[int], _Forwarded | None]:
        """Forward the images that the budget still covers; answer EXHAUSTED for the others."""
        granted = [i for i, ordinal in enumerate(ordinals) if ordinal]
        labels = [frames.EXHAUSTED] * len(numbers)
        if not granted:
            return labels, None
        images = np.frombuffer(pixels, np.uint8).reshape(len(numbers), -1)[granted]
        forwarded = self._forward([numbers[i] for i in granted], [ordinals[i] for i in granted], images.tobytes())
        for i, label in zip(granted, forwarded.answers, strict=True):
            labels[i] = label
        return labels, forwarded

    def _forward(self, numbers: Sequence[int], ordinals: list[int], pixels: memoryview | bytes) -> _Forwarded:
        """Get the labels of charged images from the model; attribute the queries while it works."""
        model = self._context.model
        count = len(numbers)
        images: Images = np.frombuffer(pixels, np.uint8).reshape(count, -1)
        failed: PlayerFailedError | None = None
        squared: list[float] | None = None
        try:
            model.ask(count, pixels)
            squared, owners = self._attribute(numbers, images)
            labels = model.labels(count)
        except PlayerFailedError as failure:
            failed, labels = failure, [frames.UNCLASSIFIED] * count
        if squared is None:
            squared, owners = self._attribute(numbers, images)
        answers = labels
        payers: Sequence[int] = numbers
        if owners != list(numbers):
            charges = self.budget.settle(numbers, owners)
            payers, ordinals = [charge.payer for charge in charges], [charge.ordinal for charge in charges]
            answers = [
                label if charge.answered else frames.EXHAUSTED for label, charge in zip(labels, charges, strict=True)
            ]
        cause = failed.failure if failed else None
        forwarded = _Forwarded(numbers, payers, ordinals, images, labels, answers, squared, cause)
        if failed is not None and failed.final:
            self._note(forwarded)
            raise failed
        return forwarded

    def _attribute(self, numbers: Sequence[int], images: Images) -> tuple[list[float], list[int]]:
        """Return the squared distances to the clean images, and the samples that pay."""
        squared = self._differences.squared(numbers, images).tolist()
        return squared, self._attribution.owners(numbers, images, squared)

    def _note(self, forwarded: _Forwarded) -> None:
        f = forwarded
        self.record.add(f.numbers, f.payers, f.ordinals, f.images, f.answers, f.squared, failure=f.failure)
        if f.failure is None:
            self._audit.watch(f.images, f.labels, f.squared)

    def _read_statuses(self, frame: ReceivedFrame) -> None:
        for number, status in frames.FINISH_SAMPLE.iter_unpack(frame.payload):
            if number not in self.budget:
                raise ChannelError(Reason.UNKNOWN_SAMPLE, f"sample {number} is not part of this piece")
            if status == frames.STATUS_RAISED:
                self.raised.add(number)
