"""The two players as the referee deals with them: asked, timed, and started afresh when they fail or it is time."""

from __future__ import annotations

import random
import socket
import struct
import time
from collections import deque
from contextlib import ExitStack

from evaluation.domain.errors import Fault
from evaluation.domain.players import Side, Track
from evaluation.domain.results import Failure, Reason
from evaluation.domain.rules import QueryRules
from evaluation.protocol import handshake
from evaluation.protocol.channel import Channel, ChannelError, Frame, Layout
from evaluation.referee.clock import MODEL_GRACE_SECONDS, TimeBank
from evaluation.referee.early_start import BackgroundEnd, EarlyStart
from evaluation.referee.player_connection import PlayerConnection
from gauntlet import frames

RESTARTS = 2
"""How often in a piece a player that failed is started afresh."""

PATIENCE = 2.0
"""Seconds that a player which hung up has to end by itself, so that its exit status can tell why."""

MOST_PAUSE = 0.02
"""The longest pause before a question of the referee's own, in seconds."""

_PAUSES = 64
"""How many of an attack's last pauses are remembered."""

_LABELS_DUE = {frames.LABELS: Layout(1, frames.MAX_COUNT, 0, 2)}


class PlayerFailedError(Exception):
    """A player failed just now. `final` is True where it is not started again in this piece."""

    def __init__(self, failure: Failure, *, final: bool) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.final = final


class ConnectedPlayer:
    """One side of a match over all its instances and connections."""

    def __init__(
        self, side: Side, connection: PlayerConnection, track: Track, rules: QueryRules, calibration: float
    ) -> None:
        self.side = side
        self.rules = rules
        self.calibration = calibration
        self.failures: list[Failure] = []
        """Those of the piece that is played."""
        self._seat = connection
        self._track = track
        self._channel: Channel | None = None
        self._ahead: EarlyStart | None = None
        self._ending: list[BackgroundEnd] = []
        self._started = False

    @property
    def gone(self) -> bool:
        """Whether it has failed for good, as far as this piece goes."""
        return len(self.failures) > RESTARTS or any(failure.in_setup for failure in self.failures)

    @property
    def connected(self) -> bool:
        """Whether a started player holds a connection."""
        return self._channel is not None

    def begin_piece(self) -> None:
        """Forget the failures of the piece before: what becomes of a piece depends on no other."""
        self.failures = []
        self._started = self.connected

    def start_early(self) -> None:
        """Start an instance in the background, which the next `channel` without a connection takes."""
        if self._ahead is None and not self.gone:
            self._ahead = EarlyStart(self._seat.another(), self._setup_seconds)

    @property
    def early_start_is_ready(self) -> bool:
        """Whether an instance that was started ahead can be taken without a wait."""
        return self._ahead is not None and self._ahead.ready

    def channel(self) -> Channel:
        """The open connection; starts a player where there is none. Raises `PlayerFailedError`."""
        if self._channel is None:
            first = not self._started
            self._started = True
            try:
                connected, deadline = self._connect()
                self._channel = handshake.welcome(connected, self.side, self._track, self.rules, deadline)
            except ChannelError as error:
                raise self.fail(error, starting=True, in_setup=first) from None
        return self._channel

    @property
    def _setup_seconds(self) -> float:
        return self.rules.setup_seconds * self.calibration

    def _connect(self) -> tuple[socket.socket, float]:
        ahead, self._ahead = self._ahead, None
        if ahead is not None and (taken := ahead.take()) is not None:
            self._seat = ahead.connection
            return taken
        return self._seat.open(self._setup_seconds)

    def fail(self, error: ChannelError, *, starting: bool = False, in_setup: bool = False) -> PlayerFailedError:
        """Send the player away for `error`; the exception to raise, with the reason that tells most.

        `starting`: it had not said HELLO yet; `in_setup`: and that was its first start in this piece.
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

    def renew(self) -> None:
        """End the instance that plays, in the background. The next `channel` starts another, or takes the one ahead.

        Raises `Fault` where an instance could not be ended.
        """
        if self._channel is None:
            return
        self._channel.bye()
        self._channel = None
        still = [end for end in self._ending if not end.over]
        over, self._ending = [end for end in self._ending if end.over], [*still, BackgroundEnd(self._seat)]
        self._seat = self._seat.another()
        for end in over:
            end.join()

    def close(self) -> None:
        """The match is over: end every instance. Raises `Fault` where one could not be ended."""
        ahead, self._ahead = self._ahead, None
        ending, self._ending = self._ending, []
        if self._channel is not None:
            self._channel.bye()
            self._channel = None
        self._seat.give_up()
        with ExitStack() as stack:  # each is ended, whatever happens to the others
            stack.callback(self._seat.dismiss)
            for end in ending:
                stack.callback(end.join)
            if ahead is not None:
                stack.callback(ahead.cancel)


class Model(ConnectedPlayer):
    """The model: images in, labels out."""

    def __init__(self, connection: PlayerConnection, track: Track, rules: QueryRules, calibration: float) -> None:
        super().__init__(Side.MODEL, connection, track, rules, calibration)
        self.seconds = 0.0
        self.images = 0
        self._sequence = 0
        self._bank = TimeBank(0.0)
        self._asked_at = 0.0
        self._answered_at: float | None = None
        self._pauses: deque[float] = deque(maxlen=_PAUSES)

    def channel(self) -> Channel:
        fresh = self._channel is None
        channel = super().channel()
        if fresh:
            self._bank = TimeBank(MODEL_GRACE_SECONDS * self.calibration)
            self._sequence = 0
            self._answered_at = None
        return channel

    def ask(self, count: int, pixels: memoryview | bytes) -> None:
        """Send `count` images; `labels` fetches the answer. Raises `PlayerFailedError`."""
        channel = self.channel()
        if self._answered_at is not None:
            self._pauses.append(time.monotonic() - self._answered_at)
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
            self._answered_at = time.monotonic()
            spent = self._answered_at - self._asked_at
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
        """Ask and fetch in one; for the referee's own questions. Raises `PlayerFailedError`.

        It comes after a pause like those that the attack made, or its haste would give the referee away.
        """
        if self._pauses:
            time.sleep(min(random.choice(self._pauses), MOST_PAUSE))
        self._answered_at = None  # no pause of an attack ends here
        self.ask(count, images)
        return self.labels(count)
