"""A submission in its sandbox as a model under attack: it is not trusted.

It answers labels and, if it says so, scores and gradients, which are vector-Jacobian products: it multiplies weights of
the scores with its Jacobian, and the losses of attacks stay on this side.
"""

from __future__ import annotations

import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evaluation.domain.errors import Fault
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import Images, ImageShape
from evaluation.domain.players import Program
from evaluation.domain.processor_use import ProcessorUse
from evaluation.formats.curves.models.classifier import Classifier, Loss
from evaluation.formats.curves.threat_models import Knowledge
from evaluation.protocol.channel import Channel, ChannelError, Layout
from evaluation.protocol.listener import Listener
from evaluation.protocol.model_time import ModelTime
from evaluation.sandbox.base import SOCKET_NAME, Ending, PlayerRun, Resources, Sandbox
from evaluation.sandbox.directory_removal import remove_trees
from evaluation.sandbox.host_fault_check import require_working_host
from evaluation.sandbox.peak_use import MostUsed
from gauntlet import frames

_PATIENCE = 2.0
"""Seconds for a player that closed its connection to end by itself, so that its exit status can give the reason."""

GRADIENT_FACTOR = 4.0
"""How many times the limit of a label a gradient may take: reverse mode costs at most four times the function (Griewank
and Walther 2008, section 3.4)."""

MOST_VALUE = 1e15
"""The largest score and gradient: sums of their squares over an image are finite in single precision."""

_BYTES_AT_ONCE = 1 << 22
"""Bytes of scores or gradients in one frame, unless one image has more."""

_HELLO_DUE = {frames.HELLO: Layout(0, 0, frames.HELLO_PAYLOAD.size, 0)}

Numbers: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """What a player answered for images (n, height, width, channels) as it saw them: one of the three."""

    images: Images
    labels: list[int] | None = None
    scores: Numbers | None = None
    """(n, classes)"""
    gradients: Numbers | None = None
    """Like the images."""
    weights: Numbers | None = None
    """Of the scores for the gradients, (n, classes)."""


OnAnswer: TypeAlias = Callable[[ModelAnswers], None]


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

    rounds = True

    def __init__(
        self,
        connection: _Connection,
        player: _Player,
        program: Program,
        classes: int,
        answer_time: ModelTime,
        *,
        on_answer: OnAnswer | None,
    ) -> None:
        """Take an open connection; use `sandboxed` instead."""
        self.name, self.digest, self.classes = program.name, program.digest, classes
        self._channel, self._offers, self._player = connection.channel, connection.offers, player
        self._time = answer_time
        self._on_answer, self._sequence = on_answer, 0

    @property
    def offers(self) -> frozenset[Knowledge]:
        return self._offers

    @property
    def seconds_per_image(self) -> float:
        """The mean seconds of an image, whatever was asked, without those that a busy host took; 0 if nothing was."""
        return self._time.seconds_per_image()

    def seen(self, images: Tensor) -> Tensor:
        return as_images(as_pixels(images))

    def labels(self, images: Tensor) -> Tensor:
        found: list[int] = []
        for pixels in _parts(as_pixels(images), 2):
            payload = self._ask(frames.PREDICT, frames.LABELS, 2, len(pixels), _bytes(pixels))
            labels = struct.unpack(f"<{len(pixels)}h", payload)
            answers = [label if 0 <= label < self.classes else frames.UNCLASSIFIED for label in labels]
            self._answered(ModelAnswers(pixels, labels=answers))
            found += answers
        return torch.tensor(found, dtype=torch.int64)

    def logits(self, images: Tensor) -> Tensor:
        self._require(Knowledge.SCORE)
        found = [np.empty((0, self.classes), np.float32)]
        each = 4 * self.classes
        for pixels in _parts(as_pixels(images), each):
            payload = self._ask(frames.ASK_SCORES, frames.SCORES, each, len(pixels), _bytes(pixels))
            scores = self._checked(payload).reshape(len(pixels), self.classes)
            self._answered(ModelAnswers(pixels, scores=scores))
            found.append(scores)
        return torch.from_numpy(np.concatenate(found))

    def gradient(self, images: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        self._require(Knowledge.WHITE_BOX)
        scores = self.logits(images)
        variable = scores.clone().requires_grad_()
        with torch.enable_grad():
            (weights,) = torch.autograd.grad(loss(variable).sum(), variable)
        # equal or huge scores, which the player chooses, leave some losses undefined
        return scores, self.product(images, weights.nan_to_num(0.0, 0.0, 0.0).clamp(-MOST_VALUE, MOST_VALUE))

    def product(self, images: Tensor, weights: Tensor) -> Tensor:
        """Return the gradient of the sum of weights (n, classes) times scores by the values of each image."""
        pixels, sent = as_pixels(images), weights.numpy().astype("<f4")
        each = 4 * pixels[0].size if len(pixels) else 4
        found = [np.empty((0, *pixels.shape[1:]), np.float32)]
        for part, own in zip(_parts(pixels, each), _parts(sent, each), strict=True):
            question = (_bytes(own), _bytes(part))
            payload = self._ask(
                frames.ASK_GRADIENTS, frames.GRADIENTS, each, len(part), *question, factor=GRADIENT_FACTOR
            )
            gradients = self._checked(payload).reshape(part.shape)
            self._answered(ModelAnswers(part, gradients=gradients, weights=own))
            found.append(gradients)
        # the player's values are 0 to 255, the attack's 0 to 1
        return torch.from_numpy(np.concatenate(found)).permute(0, 3, 1, 2) * 255.0

    def _require(self, knowledge: Knowledge) -> None:
        if knowledge not in self._offers:
            raise ModelFailedError(Reason.NOT_OFFERED, f"{self.name} offers no {_NOUNS[knowledge]}")

    def _ask(self, kind: int, answer: int, each: int, count: int, *parts: bytes, factor: float = 1.0) -> memoryview:
        """Send a question about `count` images; return the answer, `each` bytes for an image."""
        self._sequence += 1
        self._time.ask(count, factor=factor)
        extend = self._time.extend
        try:
            self._channel.send(kind, count, self._sequence, *parts, deadline=self._time.deadline, extend=extend)
            due = {answer: Layout(1, _at_once(each), 0, each)}
            reply = self._channel.receive(due, self._time.deadline, extend=extend)
            if reply.count != count:
                raise ChannelError(Reason.BAD_COUNT, f"{reply.count} answers for {count} images")
            if reply.sequence != self._sequence:
                raise ChannelError(Reason.BAD_SEQUENCE, f"sequence {reply.sequence}, expected {self._sequence}")
        except ChannelError as error:
            error = self._time.with_cause(error)
            self._channel.reject(str(error))
            raise self._player.failed(error) from None
        finally:
            self._time.answered()
        return reply.payload

    def _checked(self, payload: memoryview) -> Numbers:
        """Return a copy of the numbers of an answer. Raise `ModelFailedError` if an attack cannot compute with them."""
        numbers = np.frombuffer(payload, "<f4").astype(np.float32)
        with np.errstate(invalid="ignore"):
            usable = np.abs(numbers) <= MOST_VALUE
        if not usable.all():
            error = ChannelError(Reason.INVALID_NUMBERS, f"{numbers[~usable][0]}, at most {MOST_VALUE:g} allowed")
            self._channel.reject(str(error))
            raise self._player.failed(error)
        return numbers

    def _answered(self, answers: ModelAnswers) -> None:
        if self._on_answer is not None:
            self._on_answer(answers)


_NOUNS = {Knowledge.SCORE: "scores", Knowledge.WHITE_BOX: "gradients"}


def _at_once(each: int) -> int:
    """Return how many images a question may be about, if the answer has `each` bytes for one."""
    return min(frames.MAX_COUNT, max(1, _BYTES_AT_ONCE // each))


def _parts(rows: NDArray[Any], each: int) -> list[NDArray[Any]]:
    step = _at_once(each)
    return [rows[start : start + step] for start in range(0, len(rows), step)]


def _bytes(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array).tobytes()


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
    used: MostUsed | None = None,
) -> Iterator[SandboxedClassifier]:
    """Start a player as a classifier, and end it. Raise `ModelFailedError` if it does not start, or `Fault`.

    Limits are in seconds of the reference machine; how answers are timed says `ModelTime`. `on_log` gets the player's
    output, from another thread. `used` collects what it uses of its limits.
    """
    started, connection = _Player(sandbox, player, resources or Resources(), on_log, used), None
    try:
        connection = started.connect(setup_seconds * calibration, shape, classes)
        limit = ModelTime(seconds_per_image, calibration, started.processor_use)
        yield SandboxedClassifier(connection, started, player, classes, limit, on_answer=on_answer)
        connection.channel.bye()
    finally:
        if connection is not None:
            connection.channel.close()
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
        self,
        sandbox: Sandbox,
        program: Program,
        resources: Resources,
        on_log: Callable[[bytes], None] | None,
        used: MostUsed | None,
    ) -> None:
        self._sandbox, self._program, self._resources, self._on_log = sandbox, program, resources, on_log
        self._used = used
        self._directory: Path | None = None
        self._run: PlayerRun | None = None
        self._ending: Ending | None = None

    def connect(self, seconds: float, shape: ImageShape, classes: int) -> _Connection:
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
            began = time.monotonic()
            deadline = began + seconds
            if self._on_log is not None:
                run.follow(self._on_log)
            most = max(_at_once(each) * each for each in (2, 4 * classes, 4 * shape.size))
            channel = Channel(listener.accept(deadline, run.ended), max_payload=most)
            if self._used is not None:
                self._used.connected(run, time.monotonic() - began)
            return _Connection(channel, _welcome(channel, deadline, shape, classes))
        except ChannelError as error:
            raise self.failed(error, starting=True) from None
        finally:
            listener.close()

    def processor_use(self) -> ProcessorUse | None:
        """Return what the running process has used; None where that does not measure its work: on a GPU."""
        return self._run.processor_use() if self._run is not None and not self._program.gpu else None

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
            if self._used is not None:
                self._used.look(self._run)
            deadline = time.monotonic() + patience
            while not self._run.ended() and time.monotonic() < deadline:
                time.sleep(0.01)
            self._ending = self._run.end()
        return self._ending


@dataclass(frozen=True)
class _Connection:
    """An open channel, and what the player offers on it."""

    channel: Channel
    offers: frozenset[Knowledge]


def _welcome(channel: Channel, deadline: float, shape: ImageShape, classes: int) -> frozenset[Knowledge]:
    """Read and check HELLO, answer WELCOME; return what is offered. Raise `ChannelError` with the socket closed."""
    try:
        hello = channel.receive(_HELLO_DUE, deadline)
        if frames.HELLO_PAYLOAD.unpack(hello.payload) != (frames.MAGIC, frames.VERSION, frames.ROLE_MODEL):
            raise ChannelError(Reason.BAD_HELLO, "it is no model of this version of the protocol")
        offers = _offers(hello.sequence)
        welcome = frames.WELCOME_PAYLOAD.pack(
            frames.VERSION, frames.ROLE_MODEL, *shape, classes, frames.MAX_COUNT, 0, 0
        )
        channel.send(frames.WELCOME, 0, 0, welcome, deadline=deadline)
    except ChannelError as error:
        channel.reject(str(error))
        if error.reason in (Reason.BAD_TYPE, Reason.BAD_LENGTH, Reason.BAD_COUNT):
            raise ChannelError(Reason.BAD_HELLO, error.detail) from None
        raise
    return offers


def _offers(bits: int) -> frozenset[Knowledge]:
    """Return what a HELLO offers; gradients are of no use without scores, from which losses are computed."""
    found = {Knowledge.DECISION}
    if bits & frames.OFFERS_SCORES:
        found.add(Knowledge.SCORE)
        if bits & frames.OFFERS_GRADIENTS:
            found.add(Knowledge.WHITE_BOX)
    return frozenset(found)
