"""Protocol tests of attacks: query the given samples in order, handle every answer, and finish."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import Images
from evaluation.domain.players import TrackName
from evaluation.formats.query.conformance.launcher import LaunchedPlayer
from evaluation.formats.query.conformance.session import ConformanceSession
from evaluation.formats.query.conformance.steps import Step
from evaluation.formats.query.referee.query_budget import Budget
from evaluation.formats.query.rules import QueryRules
from evaluation.protocol.channel import ChannelError, Layout, ReceivedFrame
from gauntlet import frames

BUDGET = 50
SPENT_BUDGET = 5
"""A budget that any search uses up immediately."""

MOST_EXHAUSTED = 1000
"""The number of images beyond the budget at which an attack is considered to be in an endless loop."""

Labeller: TypeAlias = Callable[[Images], list[int]]
"""Labels of uint8 images (n, bytes of an image)."""


@dataclass
class _Seen:
    """The counts of one piece."""

    queries: int = 0
    frames: int = 0
    exhausted: int = 0
    raised: int = 0

    def __str__(self) -> str:
        text = f"{self.queries} queries in {self.frames} frames"
        text += f", {self.exhausted} beyond the budget" if self.exhausted else ""
        return text + (f"; the attack reports exceptions on {self.raised} samples" if self.raised else "")


class _Host:
    """Plays pieces against the attack with a toy model: the label is the mean brightness."""

    def __init__(self, player: LaunchedPlayer, rules: QueryRules, seconds: float, budget: int) -> None:
        self._player = player
        self._rules = rules
        self._seconds = seconds
        self._budget = budget
        self._sequence = 0
        self._last_reply: tuple[bytes, bytes] | None = None

    def brightness(self, images: Images) -> list[int]:
        """Return as class the mean brightness in equal steps."""
        means = images.reshape(len(images), -1).mean(axis=1)
        return (means * (self._rules.classes / 256)).astype(int).tolist()  # type: ignore[no-any-return]

    def unclassified(self, images: Images) -> list[int]:
        """Return no valid label for any image."""
        return [frames.UNCLASSIFIED] * len(images)

    def play(self, numbers: list[int], label: Labeller, *, targeted: bool = False) -> _Seen:
        """Play a piece of samples with these numbers, from PIECE to FINISH. Raise `ChannelError`."""
        left = self._seconds
        self._send_piece(numbers, targeted, time.monotonic() + left)
        budget, seen = Budget(numbers, self._budget), _Seen()
        size = self._rules.shape.size
        due = {
            frames.QUERY: Layout(1, frames.MAX_COUNT, 0, 2 + size),
            frames.FINISH: Layout(0, frames.MAX_COUNT, 0, frames.FINISH_SAMPLE.size),
        }
        while True:
            waiting_since = time.monotonic()
            frame = self._player.connection.receive(due, waiting_since + left)
            left -= time.monotonic() - waiting_since
            if self._is_new(frame):
                if frame.type == frames.FINISH:
                    self._finish(frame, budget, seen)
                    return seen
                self._last_reply = self._answer(frame, budget, label, seen)
            if self._last_reply is not None:
                deadline = time.monotonic() + left
                self._player.connection.send(
                    frames.ANSWERS, frame.count, frame.sequence, *self._last_reply, deadline=deadline
                )

    def _is_new(self, frame: ReceivedFrame) -> bool:
        """Return True for a new frame, False for a retransmission of the last one."""
        last = self._last_reply
        same = last is not None and frame.type == frames.QUERY and frame.sequence == self._sequence
        if same and last is not None and len(last[0]) == 2 * frame.count:
            return False
        if frame.sequence != self._sequence + 1:
            raise ChannelError(Reason.BAD_SEQUENCE, f"sequence {frame.sequence}, expected {self._sequence + 1}")
        self._sequence = frame.sequence
        return True

    def _send_piece(self, numbers: list[int], targeted: bool, deadline: float) -> None:
        rng = np.random.default_rng(numbers)
        images = np.clip(rng.normal(90, 8, (len(numbers), *self._rules.shape)), 0, 255).astype(np.uint8)
        parts = [frames.PIECE_PAYLOAD.pack(20180401, int(self._seconds * 1000), 0)]
        for number, label in zip(numbers, self.brightness(images), strict=True):
            target = (label + 1) % self._rules.classes
            parts.append(frames.PIECE_SAMPLE.pack(number, *((-1, target) if targeted else (label, -1)), 0))
        self._player.connection.send(
            frames.PIECE, len(numbers), 0, b"".join(parts), images.tobytes(), deadline=deadline
        )

    def _answer(self, frame: ReceivedFrame, budget: Budget, label: Labeller, seen: _Seen) -> tuple[bytes, bytes]:
        """Charge one QUERY and return the payload of its ANSWERS."""
        numbers = struct.unpack_from(f"<{frame.count}H", frame.payload)
        for number in numbers:
            self._expect_known(number, budget)
        ordinals = budget.charge(numbers)
        images = np.frombuffer(frame.payload, np.uint8, offset=2 * frame.count).reshape(frame.count, -1)
        labels = [
            answer if ordinal else frames.EXHAUSTED for answer, ordinal in zip(label(images), ordinals, strict=True)
        ]
        seen.frames += 1
        seen.queries += frame.count
        seen.exhausted += ordinals.count(0)
        if seen.exhausted > MOST_EXHAUSTED:
            raise ChannelError(Reason.TOO_SLOW, f"{seen.exhausted} queries beyond the budget without FINISH")
        return struct.pack(f"<{frame.count}h", *labels), struct.pack(f"<{frame.count}I", *budget.left(numbers))

    def _finish(self, frame: ReceivedFrame, budget: Budget, seen: _Seen) -> None:
        for number, status in frames.FINISH_SAMPLE.iter_unpack(frame.payload):
            self._expect_known(number, budget)
            seen.raised += status == frames.STATUS_RAISED

    def _expect_known(self, number: int, budget: Budget) -> None:
        if number not in budget:
            raise ChannelError(Reason.UNKNOWN_SAMPLE, f"sample {number} is not part of this piece")


def _untargeted(player: LaunchedPlayer, rules: QueryRules, seconds: float) -> list[Step]:
    host = _Host(player, rules, seconds, BUDGET)
    ten = [3, 4, 5, 700, 701, 65535, 0, 17, 18, 19]
    return [
        ("plays a piece of 1 sample", lambda: str(host.play([41], host.brightness))),
        ("plays a piece of 10 samples", lambda: str(host.play(ten, host.brightness))),
        ("handles images without a label", lambda: str(host.play([1, 2], host.unclassified))),
        ("silent between pieces", player.expect_silence),
        ("ends after BYE", player.end_by_bye),
    ]


def _spent(player: LaunchedPlayer, rules: QueryRules, seconds: float) -> list[Step]:
    host = _Host(player, rules, seconds, SPENT_BUDGET)

    def wrong_label(images: Images) -> list[int]:
        return [0] * len(images)  # never the target, which is the class after that of medium brightness

    return [
        ("plays a targeted piece", lambda: str(host.play([8, 9], host.brightness, targeted=True))),
        ("stops when the budget is used up", lambda: str(host.play([10, 11, 12], wrong_label, targeted=True))),
        ("ends when the connection closes", player.end_by_closing),
    ]


ATTACK_SESSIONS = (
    ConformanceSession(TrackName.UNTARGETED, BUDGET, _untargeted),
    ConformanceSession(TrackName.TARGETED, SPENT_BUDGET, _spent),
)
