"""A submission in its sandbox as a model under attack: it answers labels, and is not trusted."""

from __future__ import annotations

import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from evaluation.domain.errors import Fault
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import Images, ImageShape
from evaluation.domain.players import Program
from evaluation.formats.curves.models.classifier import Classifier, Loss
from evaluation.formats.curves.threat_models import Knowledge
from evaluation.protocol.channel import Channel, ChannelError, Layout
from evaluation.protocol.listener import Listener
from evaluation.sandbox.base import SOCKET_NAME, Ending, PlayerRun, Resources, Sandbox
from evaluation.sandbox.directory_removal import remove_trees
from evaluation.sandbox.host_fault_check import require_working_host
from gauntlet import frames

GRACE_SECONDS = 10.0
"""Seconds of the reference machine that an answer may take beyond those of its images."""

_CLOCK_FACTOR = 10.0
"""How much longer than its limit an answer may take while the player has not computed for that long: a busy host."""

_PATIENCE = 2.0
"""Seconds for a player that closed its connection to end by itself, so that its exit status can give the reason."""

_HELLO_DUE = {frames.HELLO: Layout(0, 0, frames.HELLO_PAYLOAD.size, 0)}
_LABELS_DUE = {frames.LABELS: Layout(1, frames.MAX_COUNT, 0, 2)}

OnAnswer: TypeAlias = Callable[[Images, list[int]], None]
"""Gets images (n, height, width, channels) as the player saw them, and its answers."""


class ModelFailedError(Exception):
    """The player broke the protocol or a limit, or ended: an error of its team."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason, self.detail = reason, detail


class SandboxedClassifier(Classifier):
    """A running player. Images are rounded to 8 bits before it sees them; see `as_pixels`.

    A label that is no class is `frames.UNCLASSIFIED`. Methods raise `ModelFailedError`, and `Fault` where this host
    may be the cause.
    """

    def __init__(
        self,
        channel: Channel,
        player: _Player,
        program: Program,
        classes: int,
        *,
        seconds_per_image: float,
        grace: float,
        on_answer: OnAnswer | None,
    ) -> None:
        """Take an open connection; use `sandboxed` instead."""
        self.name, self.digest, self.classes = program.name, program.digest, classes
        self._channel, self._player = channel, player
        self._seconds_per_image, self._grace = seconds_per_image, grace
        self._on_answer, self._sequence = on_answer, 0
        self.images = 0
        """Number of images that it labelled."""
        self.seconds = 0.0
        """Seconds that it took for them."""

    @property
    def offers(self) -> frozenset[Knowledge]:
        return frozenset({Knowledge.DECISION})

    def seen(self, images: Tensor) -> Tensor:
        return as_images(as_pixels(images))

    def labels(self, images: Tensor) -> Tensor:
        pixels = as_pixels(images)
        parts = [
            self._ask(pixels[start : start + frames.MAX_COUNT]) for start in range(0, len(pixels), frames.MAX_COUNT)
        ]
        return torch.tensor([label for part in parts for label in part], dtype=torch.int64)

    def logits(self, images: Tensor) -> Tensor:
        raise Fault(f"{self.name} answers no scores")

    def gradient(self, images: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        raise Fault(f"{self.name} answers no gradients")

    def _ask(self, pixels: Images) -> list[int]:
        self._sequence += 1
        count, start = len(pixels), time.monotonic()
        limit = self._grace + count * self._seconds_per_image
        extend = self._player.patience(limit)
        try:
            content = np.ascontiguousarray(pixels).tobytes()
            self._channel.send(frames.PREDICT, count, self._sequence, content, deadline=start + limit, extend=extend)
            reply = self._channel.receive(_LABELS_DUE, start + limit, extend=extend)
            if reply.count != count:
                raise ChannelError(Reason.BAD_COUNT, f"{reply.count} labels for {count} images")
            if reply.sequence != self._sequence:
                raise ChannelError(Reason.BAD_SEQUENCE, f"sequence {reply.sequence}, expected {self._sequence}")
        except ChannelError as error:
            self._channel.reject(str(error))
            raise self._player.failed(error) from None
        self.images += count
        self.seconds += time.monotonic() - start
        labels = struct.unpack(f"<{count}h", reply.payload)
        answers = [label if 0 <= label < self.classes else frames.UNCLASSIFIED for label in labels]
        if self._on_answer is not None:
            self._on_answer(pixels, answers)
        return answers


@contextmanager
def sandboxed(
    player: Program,
    *,
    sandbox: Sandbox,
    shape: ImageShape,
    classes: int,
    setup_seconds: float,
    seconds_per_image: float,
    calibration: float,
    resources: Resources | None = None,
    on_log: Callable[[bytes], None] | None = None,
    on_answer: OnAnswer | None = None,
) -> Iterator[SandboxedClassifier]:
    """Start a player as a classifier, and end it. Raise `ModelFailedError` if it does not start, or `Fault`.

    Limits are in seconds of the reference machine. `on_log` gets the player's output, from another thread.
    """
    started, channel = _Player(sandbox, player, resources or Resources(), on_log), None
    try:
        channel = started.connect(setup_seconds * calibration, shape, classes)
        yield SandboxedClassifier(
            channel, started, player, classes,
            seconds_per_image=seconds_per_image * calibration, grace=GRACE_SECONDS * calibration,
            on_answer=on_answer,
        )  # fmt: skip
        channel.bye()
    finally:
        if channel is not None:
            channel.close()
        started.end()


def as_pixels(images: Tensor) -> Images:
    """Return images float (n, channels, height, width) in [0, 1] as a player sees them: rounded to 8 bits."""
    pixels: Images = (images.clamp(0.0, 1.0) * 255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()
    return pixels


def as_images(pixels: Images) -> Tensor:
    """Return 8-bit images (n, height, width, channels) as an attack sees them."""
    return torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2).float() / 255


class _Player:
    """The process of a player, and its end."""

    def __init__(
        self, sandbox: Sandbox, program: Program, resources: Resources, on_log: Callable[[bytes], None] | None
    ) -> None:
        self._sandbox, self._program, self._resources, self._on_log = sandbox, program, resources, on_log
        self._directory: Path | None = None
        self._run: PlayerRun | None = None
        self._ending: Ending | None = None

    def connect(self, seconds: float, shape: ImageShape, classes: int) -> Channel:
        """Start the process and shake hands."""
        try:
            self._directory = Path(tempfile.mkdtemp(prefix="gauntlet-"))
            self._directory.chmod(0o755)  # the player runs as another user
            listener = Listener(self._directory / SOCKET_NAME)
        except OSError as failure:
            raise Fault(f"this host cannot create a socket for {self._program.name}: {failure}") from failure
        try:
            run = self._run = self._sandbox.start(
                self._program, socket_directory=self._directory, resources=self._resources
            )
            deadline = time.monotonic() + seconds
            if self._on_log is not None:
                run.follow(self._on_log)
            return _welcome(Channel(listener.accept(deadline, run.ended), max_payload=_MOST), deadline, shape, classes)
        except ChannelError as error:
            raise self.failed(error, starting=True) from None
        finally:
            listener.close()

    def patience(self, limit: float) -> Callable[[], float]:
        """Return what extends a deadline: while the player has computed for less than `limit`, the host is busy."""
        start, before = time.monotonic(), self._computed()

        def extend() -> float:
            now, computed = time.monotonic(), self._computed()
            if before is None or computed is None or self._run is None or self._run.ended():
                return 0.0
            waits = computed - before < limit and now - start < _CLOCK_FACTOR * limit
            return now + 1.0 if waits else 0.0

        return extend

    def failed(self, error: ChannelError, *, starting: bool = False) -> ModelFailedError:
        """End the player; return its failure with the most specific reason. Raise `Fault` if this host is the cause."""
        hung_up = error.reason in (Reason.DISCONNECTED, Reason.EXITED_IN_SETUP)
        ending = self._end(_PATIENCE if hung_up else 0.0)
        reason, detail = error.reason, error.detail
        if ending is not None:
            require_working_host(self._sandbox, self._program, self._resources, ending)
            if hung_up and ending.out_of_memory:
                reason, detail = Reason.OUT_OF_MEMORY, ""
            elif hung_up and ending.exit_code:
                # without its output: a result may be public where the output is not (secret images)
                reason = Reason.EXITED_IN_SETUP if starting else Reason.CRASHED
                detail = f"exit status {ending.exit_code}"
        return ModelFailedError(reason, detail)

    def end(self) -> None:
        """End the process, whatever it does, and clean up."""
        try:
            self._end(0.0)
        finally:
            if self._directory is not None:
                remove_trees([self._directory])

    def _end(self, patience: float) -> Ending | None:
        if self._run is not None and self._ending is None:
            deadline = time.monotonic() + patience
            while not self._run.ended() and time.monotonic() < deadline:
                time.sleep(0.01)
            self._ending = self._run.end()
        return self._ending

    def _computed(self) -> float | None:
        use = self._run.processor_use() if self._run is not None and not self._program.gpu else None
        return None if use is None else use.computed


_MOST = frames.MAX_COUNT * 2
"""Bytes of the largest frame that a player sends."""


def _welcome(channel: Channel, deadline: float, shape: ImageShape, classes: int) -> Channel:
    """Read and check HELLO, answer WELCOME. Raise `ChannelError` with the socket closed."""
    try:
        hello = channel.receive(_HELLO_DUE, deadline)
        if frames.HELLO_PAYLOAD.unpack(hello.payload) != (frames.MAGIC, frames.VERSION, frames.ROLE_MODEL):
            raise ChannelError(Reason.BAD_HELLO, "it is no model of this version of the protocol")
        welcome = frames.WELCOME_PAYLOAD.pack(
            frames.VERSION, frames.ROLE_MODEL, *shape, classes, frames.MAX_COUNT, 0, 0
        )
        channel.send(frames.WELCOME, 0, 0, welcome, deadline=deadline)
    except ChannelError as error:
        channel.reject(str(error))
        if error.reason in (Reason.BAD_TYPE, Reason.BAD_LENGTH, Reason.BAD_COUNT):
            raise ChannelError(Reason.BAD_HELLO, error.detail) from None
        raise
    return channel
