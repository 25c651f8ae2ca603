"""Protocol tests of models: answer every PREDICT with its sequence, its count and valid labels, as a pure function."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import Images
from evaluation.domain.players import TrackName
from evaluation.formats.query.conformance.launcher import LaunchedPlayer
from evaluation.formats.query.conformance.session import ConformanceSession
from evaluation.formats.query.conformance.steps import Step, UnmetError
from evaluation.formats.query.rules import QueryRules
from evaluation.protocol.channel import ChannelError, Layout
from gauntlet import frames


class _Queries:
    """Sends PREDICT frames and stores the first label of each image."""

    def __init__(self, player: LaunchedPlayer, rules: QueryRules, seconds: float) -> None:
        self._player = player
        self._rules = rules
        self._seconds = seconds
        self._sequence = 0
        self._first: dict[int, int] = {}
        self._labels: list[int] = []
        self._images = _assorted_images(rules)

    def classify(self, indices: Sequence[int], sequence: int | None = None) -> list[int]:
        """Return labels of the images with these indices. Raise `ChannelError` for a malformed answer."""
        payload = self._ask(frames.PREDICT, frames.LABELS, 2, indices, b"", sequence)
        labels = list(struct.unpack(f"<{len(indices)}h", payload))
        self._labels += labels
        return labels

    def _ask(
        self, kind: int, answer: int, each: int, indices: Sequence[int], before: bytes, sequence: int | None = None
    ) -> memoryview:
        """Ask about images; return the payload of the answer, `each` bytes for an image. `before` precedes the images.

        Raise `ChannelError` for a malformed answer.
        """
        self._sequence = sequence if sequence is not None else self._sequence + 1
        count = len(indices)
        deadline = time.monotonic() + self._seconds
        channel = self._player.connection
        channel.send(kind, count, self._sequence, before, self._images[indices].tobytes(), deadline=deadline)
        reply = channel.receive({answer: Layout(1, frames.MAX_COUNT, 0, each)}, deadline)
        if reply.count != count:
            raise ChannelError(Reason.BAD_COUNT, f"{reply.count} answers for {count} images")
        if reply.sequence != self._sequence:
            raise ChannelError(Reason.BAD_SEQUENCE, f"sequence {reply.sequence}, expected {self._sequence}")
        return reply.payload

    def scores(self, indices: Sequence[int]) -> str:
        """Check that scores are finite, and the highest that of the label. Raise `UnmetError`."""
        payload = self._ask(frames.ASK_SCORES, frames.SCORES, 4 * self._rules.classes, indices, b"")
        scores = _finite(payload).reshape(len(indices), -1)
        if (other := int((scores.argmax(axis=1) != self.classify(indices)).sum())) > 0:
            raise UnmetError(f"{other} of {len(indices)} images have another label than that of the highest score")
        return f"scores of {len(indices)} images, the highest that of the label"

    def gradients(self, indices: Sequence[int]) -> str:
        """Check that gradients of single scores are finite. Raise `UnmetError`."""
        weights = np.eye(self._rules.classes, dtype="<f4")[np.arange(len(indices)) % self._rules.classes]
        each = 4 * self._rules.shape.size
        _finite(self._ask(frames.ASK_GRADIENTS, frames.GRADIENTS, each, indices, weights.tobytes()))
        return f"gradients of {len(indices)} images"

    def answers(self, indices: Sequence[int]) -> str:
        """Check that one frame is answered; store the labels."""
        labels = self.classify(indices)
        self._first |= dict(zip(indices, labels, strict=True))
        return f"{len(labels)} labels"

    def repeats(self, *batches: Sequence[int]) -> str:
        """Check that the images get the same labels again, which two invalid ones are not. Raise `UnmetError`."""
        for indices in batches:
            for index, label in zip(indices, self.classify(indices), strict=True):
                if not 0 <= label < self._rules.classes:
                    raise UnmetError(f"one image had the label {label}, which is not valid")
                if label != self._first[index]:
                    raise UnmetError(f"one image had label {self._first[index]} first and {label} later")
        return f"{sum(map(len, batches))} images got the same labels again"

    def follows(self, *sequences: int) -> str:
        """Check that these sequence numbers are echoed."""
        for sequence in sequences:
            self.classify([0], sequence)
        return f"echoed {', '.join(map(str, sequences))}"

    def in_range(self) -> str:
        """Check the range of all labels so far. Raise `UnmetError`."""
        wrong = sorted({label for label in self._labels if not 0 <= label < self._rules.classes})
        if wrong:
            raise UnmetError(f"labels {wrong[:5]}; the classes are 0 to {self._rules.classes - 1}")
        return f"{len(self._labels)} labels from {min(self._labels)} to {max(self._labels)}"


def _answers(player: LaunchedPlayer, rules: QueryRules, seconds: float) -> list[Step]:
    queries = _Queries(player, rules, seconds)
    most = range(frames.MAX_COUNT)
    offered: list[Step] = []
    if player.offers & frames.OFFERS_SCORES:
        offered.append(("answers scores", lambda: queries.scores(most)))
        if player.offers & frames.OFFERS_GRADIENTS:
            offered.append(("answers gradients", lambda: queries.gradients(range(10))))
    return [
        ("answers 1 image", lambda: queries.answers([0])),
        ("answers 10 images", lambda: queries.answers(range(1, 11))),
        (f"answers {frames.MAX_COUNT} images", lambda: queries.answers(most)),
        ("labels in range", queries.in_range),
        ("same label when queried again", lambda: queries.repeats(most, most)),
        ("same label alone", lambda: queries.repeats([5], [0], [63], [5])),
        ("same label in other batches", lambda: queries.repeats(most[::-3], most[7:17], most[::-1])),
        *offered,
        ("silent without a query", player.expect_silence),
        ("ends after BYE", player.end_by_bye),
    ]


def _close(player: LaunchedPlayer, rules: QueryRules, seconds: float) -> list[Step]:
    queries = _Queries(player, rules, seconds)
    return [
        ("any sequence numbers", lambda: queries.follows(5, 6, 1000, 2**32 + 7, 2**63 + 1)),
        ("ends when the connection closes", player.end_by_closing),
    ]


def _finite(payload: memoryview) -> NDArray[np.float32]:
    numbers = np.frombuffer(payload, "<f4").copy()
    if not np.isfinite(numbers).all():
        raise UnmetError("a number is not finite")
    return numbers


def _assorted_images(rules: QueryRules) -> Images:
    """Return the images of a full frame: noise around 64 levels of brightness, always the same."""
    rng = np.random.default_rng(20180401)
    levels = np.linspace(0, 255, frames.MAX_COUNT).reshape(-1, 1, 1, 1)
    noise = rng.normal(0, 40, (frames.MAX_COUNT, *rules.shape))
    return np.clip(levels + noise, 0, 255).astype(np.uint8)


MODEL_SESSIONS = (ConformanceSession(TrackName.MODEL, 0, _answers), ConformanceSession(TrackName.MODEL, 0, _close))
