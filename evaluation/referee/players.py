"""The two players as the referee deals with them: asked, timed, and started afresh when they fail."""

from __future__ import annotations

import struct
import time

from evaluation.domain.errors import Fault
from evaluation.domain.players import Side, Track
from evaluation.domain.results import Failure, Reason
from evaluation.domain.rules import QueryRules
from evaluation.protocol import frames, handshake
from evaluation.protocol.channel import Channel, ChannelError, Frame, Layout
from evaluation.referee.clock import MODEL_GRACE_SECONDS, TimeBank
from evaluation.referee.seat import Seat

RESTARTS = 2
"""How often in a match a player that failed is started afresh."""

PATIENCE = 2.0
"""Seconds that a player which hung up has to end by itself, so that its exit status can tell why."""

_LABELS_DUE = {frames.LABELS: Layout(1, frames.MAX_COUNT, 0, 2)}


class PlayerFailedError(Exception):
    """A player failed just now. `final` is True where it is not started again in this match."""

    def __init__(self, failure: Failure, *, final: bool) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.final = final


class Contestant:
    """One side of a match over all its connections."""

    def __init__(self, side: Side, seat: Seat, track: Track, rules: QueryRules, calibration: float) -> None:
        self.side = side
        self.rules = rules
        self.calibration = calibration
        self.failures: list[Failure] = []
        self._seat = seat
        self._track = track
        self._channel: Channel | None = None
        self._started = False

    @property
    def gone(self) -> bool:
        """Whether it has failed for good."""
        return len(self.failures) > RESTARTS or any(failure.in_setup for failure in self.failures)

    @property
    def connected(self) -> bool:
        """Whether a started player holds a connection."""
        return self._channel is not None

    def channel(self) -> Channel:
        """The open connection; starts a player where there is none. Raises `PlayerFailedError`."""
        if self._channel is None:
            first = not self._started
            self._started = True
            try:
                connected, deadline = self._seat.open(self.rules.setup_seconds * self.calibration)
                self._channel = handshake.welcome(connected, self.side, self._track, self.rules, deadline)
            except ChannelError as error:
                raise self.fail(error, starting=True, in_setup=first) from None
        return self._channel

    def fail(self, error: ChannelError, *, starting: bool = False, in_setup: bool = False) -> PlayerFailedError:
        """Send the player away for `error`; the exception to raise, with the reason that tells most.

        `starting`: it had not said HELLO yet; `in_setup`: and that was its first start in this match.
        """
        if self._channel is not None:
            self._channel.reject(str(error))
            self._channel = None
        hung_up = error.reason is Reason.DISCONNECTED
        departure = self._seat.dismiss(patience=PATIENCE if hung_up else 0.0)
        reason, detail = error.reason, error.detail
        if departure.reason is not None and reason in (Reason.DISCONNECTED, Reason.EXITED_IN_SETUP):
            reason = Reason.EXITED_IN_SETUP if starting and departure.reason is Reason.CRASHED else departure.reason
            detail = departure.detail
        failure = Failure(self.side, reason, detail, in_setup)
        self.failures.append(failure)
        return PlayerFailedError(failure, final=self.gone)

    def leave(self) -> None:
        """The match is over: say so, then end the player."""
        if self._channel is not None:
            self._channel.bye()
            self._channel = None
        self._seat.dismiss()


class Model(Contestant):
    """The model: images in, labels out."""

    def __init__(self, seat: Seat, track: Track, rules: QueryRules, calibration: float) -> None:
        super().__init__(Side.MODEL, seat, track, rules, calibration)
        self.seconds = 0.0
        self.images = 0
        self._sequence = 0
        self._bank = TimeBank(0.0)
        self._asked_at = 0.0

    def channel(self) -> Channel:
        fresh = self._channel is None
        channel = super().channel()
        if fresh:
            self._bank = TimeBank(MODEL_GRACE_SECONDS * self.calibration)
            self._sequence = 0
        return channel

    def ask(self, count: int, pixels: memoryview | bytes) -> None:
        """Send `count` images; `labels` fetches the answer. Raises `PlayerFailedError`."""
        channel = self.channel()
        self._sequence += 1
        # what it did not need earlier is not saved up: a fast model that hangs must not hold a worker for hours
        self._bank = TimeBank(
            min(self._bank.left, MODEL_GRACE_SECONDS * self.calibration)
            + count * self.rules.model_seconds_per_image * self.calibration
        )
        self._asked_at = time.monotonic()
        try:
            channel.send(frames.PREDICT, count, self._sequence, pixels, deadline=self._asked_at + self._bank.left)
        except ChannelError as error:
            raise self.fail(error) from None

    def labels(self, count: int) -> list[int]:
        """The answer to the last `ask`: a label for each image, -1 where it was out of range."""
        if self._channel is None:
            raise Fault("labels were fetched from a model that was not asked")
        try:
            reply = self._channel.receive(_LABELS_DUE, self._asked_at + self._bank.left)
            self._check(reply, count)
        except ChannelError as error:
            raise self.fail(error) from None
        finally:
            spent = time.monotonic() - self._asked_at
            self._bank.used += spent
            self.seconds += spent
            self.images += count
        labels = list(struct.unpack(f"<{count}h", reply.payload))
        if min(labels) < 0 or max(labels) >= self.rules.classes:
            return [label if 0 <= label < self.rules.classes else frames.UNCLASSIFIED for label in labels]
        return labels

    def _check(self, reply: Frame, count: int) -> None:
        if reply.count != count:
            raise ChannelError(Reason.BAD_COUNT, f"{reply.count} labels for {count} images")
        if reply.sequence != self._sequence:
            raise ChannelError(Reason.BAD_SEQUENCE, f"sequence {reply.sequence}, expected {self._sequence}")

    def classify(self, images: memoryview | bytes, count: int) -> list[int]:
        """Ask and fetch in one; for the referee's own questions. Raises `PlayerFailedError`."""
        self.ask(count, images)
        return self.labels(count)
