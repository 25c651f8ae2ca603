"""The two players of a match: asking them, timing them, and restarting them."""

from __future__ import annotations

import random
import socket
import struct
import time
from collections import deque
from contextlib import ExitStack

from evaluation.domain.errors import Fault
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import Side, TrackName
from evaluation.formats.query.referee import handshake
from evaluation.formats.query.referee.early_player_start import BackgroundEnd, EarlyStart
from evaluation.formats.query.referee.player_interface import PlayerConnection
from evaluation.formats.query.results import Failure
from evaluation.formats.query.rules import QueryRules
from evaluation.protocol.channel import Channel, ChannelError, Layout, ReceivedFrame
from evaluation.protocol.model_time import ModelTime
from gauntlet import frames

RESTARTS = 2
"""Number of restarts of a failed player in a piece."""

PATIENCE = 2.0
"""Seconds for a player that closed its connection to end by itself, so that its exit status can give the reason."""

MOST_PAUSE = 0.02
"""The longest pause before one of the referee's own questions, in seconds."""

_PAUSES = 64
"""Number of an attack's last pauses that are remembered."""

_LABELS_DUE = {frames.LABELS: Layout(1, frames.MAX_COUNT, 0, 2)}


class PlayerFailedError(Exception):
    """A player failed. `final` is True where it is not started again in this piece."""

    def __init__(self, failure: Failure, *, final: bool) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.final = final


class ConnectedPlayer:
    """One side of a match over all its instances and connections."""

    def __init__(
        self,
        side: Side,
        connection: PlayerConnection,
        track: TrackName,
        rules: QueryRules,
        calibration: float,
        *,
        stop_at_limit: bool = False,
    ) -> None:
        """`stop_at_limit`: a player that was too slow is not started again."""
        self.side = side
        self._stop_at_limit = stop_at_limit
        self.rules = rules
        self.calibration = calibration
        self.failures: list[Failure] = []
        """The failures in the current piece."""
        self.offers = 0
        """What a model offers besides labels, as its last HELLO says."""
        self._connection = connection
        self._track = track
        self._channel: Channel | None = None
        self._ahead: EarlyStart | None = None
        self._ending: list[BackgroundEnd] = []
        self._started = False

    @property
    def gone(self) -> bool:
        """True if the player has failed too often and is not started again in this piece."""
        if self._stop_at_limit and any(failure.reason is Reason.TOO_SLOW for failure in self.failures):
            return True
        return len(self.failures) > RESTARTS or any(failure.in_setup for failure in self.failures)

    @property
    def connected(self) -> bool:
        """True if a started player holds a connection."""
        return self._channel is not None

    def begin_piece(self) -> None:
        """Reset the failures: the outcome of a piece depends on no other piece."""
        self.failures = []
        self._started = self.connected

    def start_early(self) -> None:
        """Start an instance in the background, for the next `channel` without a connection."""
        if self._ahead is None and not self.gone:
            self._ahead = EarlyStart(self._connection.another(), self._setup_seconds)

    def channel(self) -> Channel:
        """Return the open connection; start a player where there is none. Raise `PlayerFailedError`."""
        if self._channel is None:
            first = not self._started
            self._started = True
            try:
                connected, deadline = self._connect()
                self._channel = handshake.welcome(connected, self.side, self._track, self.rules, deadline)
                self.offers = self._channel.offers
            except ChannelError as error:
                raise self.fail(error, starting=True, in_setup=first) from None
        return self._channel

    @property
    def _setup_seconds(self) -> float:
        return self.rules.setup_seconds * self.calibration

    def _connect(self) -> tuple[socket.socket, float]:
        if self._ahead is not None:
            taken, connection = (
                self._ahead.take(),
                self._ahead.connection,
            )  # where Ctrl-C ends the wait, `close` ends it
            self._ahead = None
            if taken is not None:
                self._connection = connection
                return taken
        return self._connection.open(self._setup_seconds)

    def fail(self, error: ChannelError, *, starting: bool = False, in_setup: bool = False) -> PlayerFailedError:
        """End the player because of `error`; return the exception to raise, with the most specific reason.

        `starting`: it had not said HELLO yet. `in_setup`: this was also its first start in this piece.
        """
        if self._channel is not None:
            self._channel.reject(str(error))
            self._channel = None
        hung_up = error.reason is Reason.DISCONNECTED
        player_exit = self._connection.dismiss(patience=PATIENCE if hung_up else 0.0)
        reason, detail = error.reason, error.detail
        if player_exit.reason is not None and reason in (Reason.DISCONNECTED, Reason.EXITED_IN_SETUP):
            reason = Reason.EXITED_IN_SETUP if starting and player_exit.reason is Reason.CRASHED else player_exit.reason
            detail = player_exit.detail
        failure = Failure(self.side, reason, detail, in_setup)
        self.failures.append(failure)
        return PlayerFailedError(failure, final=self.gone)

    def renew(self) -> None:
        """End the current instance in the background. The next `channel` uses the early instance or starts another.

        Raise `Fault` where an instance could not be ended.
        """
        if self._channel is None:
            return
        self._channel.bye()
        self._channel = None
        pending = [end for end in self._ending if not end.over]
        finished, self._ending = [end for end in self._ending if end.over], [*pending, BackgroundEnd(self._connection)]
        self._connection = self._connection.another()
        for end in finished:
            end.join()

    def close(self) -> None:
        """End every instance. Raise `Fault` where one could not be ended."""
        ahead, self._ahead = self._ahead, None
        ending, self._ending = self._ending, []
        if self._channel is not None:
            self._channel.bye()
            self._channel = None
        self._connection.give_up()
        with ExitStack() as stack:  # end each of them, even where another one fails to end
            stack.callback(self._connection.dismiss)
            for end in ending:
                stack.callback(end.join)
            if ahead is not None:
                stack.callback(ahead.cancel)


class Model(ConnectedPlayer):
    """The model: images in, labels out."""

    def __init__(
        self,
        connection: PlayerConnection,
        track: TrackName,
        rules: QueryRules,
        calibration: float,
        *,
        stop_at_limit: bool = False,
    ) -> None:
        super().__init__(Side.MODEL, connection, track, rules, calibration, stop_at_limit=stop_at_limit)
        self._sequence = 0
        self._time = ModelTime(rules.model_seconds_per_image, calibration, lambda: self._connection.processor_use())
        self._answered_at: float | None = None
        self._pauses: deque[float] = deque(maxlen=_PAUSES)

    def channel(self) -> Channel:
        fresh = self._channel is None
        channel = super().channel()
        if fresh:
            self._time.begin()
            self._sequence = 0
            self._answered_at = None
        return channel

    def ask(self, count: int, pixels: memoryview | bytes) -> None:
        """Send `count` images; `labels` reads the answer. Raise `PlayerFailedError`."""
        channel = self.channel()
        if self._answered_at is not None:
            self._pauses.append(time.monotonic() - self._answered_at)
        self._sequence += 1
        self._time.ask(count)
        try:
            channel.send(
                frames.PREDICT, count, self._sequence, pixels, deadline=self._time.deadline, extend=self._time.extend
            )
        except ChannelError as error:
            raise self.fail(self._time.with_cause(error)) from None

    def labels(self, count: int) -> list[int]:
        """Return the answer to the last `ask`: a label for each image, -1 where it was out of range."""
        if self._channel is None:
            raise Fault("labels were read from a model that was not asked")
        try:
            reply = self._channel.receive(_LABELS_DUE, self._time.deadline, extend=self._time.extend)
            self._check(reply, count)
        except ChannelError as error:
            raise self.fail(self._time.with_cause(error)) from None
        finally:
            self._answered_at = time.monotonic()
            self._time.answered()
        labels = list(struct.unpack(f"<{count}h", reply.payload))
        if min(labels) < 0 or max(labels) >= self.rules.classes:
            return [label if 0 <= label < self.rules.classes else frames.UNCLASSIFIED for label in labels]
        return labels

    @property
    def seconds(self) -> float:
        """The seconds that it took to answer, without those that a busy host took as far as they are known yet."""
        return self._time.seconds

    @property
    def images(self) -> int:
        """The number of images that it was asked about."""
        return self._time.images

    @property
    def seconds_per_image(self) -> float:
        """The mean seconds of an image, without those that a busy host took. 0 if it was never asked."""
        return self._time.seconds_per_image(running=self._channel is not None)

    def _check(self, reply: ReceivedFrame, count: int) -> None:
        if reply.count != count:
            raise ChannelError(Reason.BAD_COUNT, f"{reply.count} labels for {count} images")
        if reply.sequence != self._sequence:
            raise ChannelError(Reason.BAD_SEQUENCE, f"sequence {reply.sequence}, expected {self._sequence}")

    def classify(self, images: memoryview | bytes, count: int) -> list[int]:
        """Ask and read the answer, for the referee's own questions. Raise `PlayerFailedError`.

        A pause like those of the attack comes first; otherwise the speed would reveal the referee.
        """
        if self._pauses:
            time.sleep(min(random.choice(self._pauses), MOST_PAUSE))
        self._answered_at = None  # this is not a pause of the attack
        self.ask(count, images)
        return self.labels(count)
