"""The audit of a model: is it a stateless, deterministic function of one image?

It asks two questions and counts them separately:

1. Function of one image: about one forwarded image in a hundred is asked again in another order and in other frames,
   among the verdict queries of its piece, and some images alone.
2. No state: whole frames are kept, and after the match a freshly started model, which has seen nothing yet, is asked
   about them as they were (`fresh_model_audit.py`). It never runs beside another instance of the model:
   two instances on one host could talk to each other.

Nobody can know what is replayed. The second question gives the stronger evidence: labels of equal frames are equal,
whatever they hold. In other frames, rounding may flip a label at the decision boundary, and an attack can look for
such images.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from evaluation.domain.images import Image, Images
from evaluation.formats.query.kept_frames import KeptFrame
from evaluation.formats.query.results import AuditReport

Kept = TypeVar("Kept")

RATE = 0.01
"""Share of the forwarded images that are replayed."""

LEAST_PER_PIECE = 16
"""Least number of replayed images of a piece, if it forwarded that many."""

MOST_SIZES = 4096
"""Number of frame sizes of a piece that are remembered."""

MOST_FRAMES = 128
"""Number of frames of a piece among which those for a freshly started model are drawn."""

MOST_FRAME_BYTES = 64 << 20
"""Memory that the kept frames of a piece may take, in bytes."""

ENOUGH_FRESH = 128
"""Number of images of a piece that a freshly started model is asked about; the last frame is asked about whole."""

MOST_ALONE = 16
"""Number of images of a piece that this model is then asked about one by one."""


@dataclass(frozen=True, eq=False)
class ReplayedImage:
    """A forwarded image, (bytes of an image,), its label at that time, and its squared distance to the clean image."""

    image: Image
    label: int
    squared: float


def fresh_report(frame: KeptFrame, now: Sequence[int] | None) -> AuditReport:
    """Return the counts of one frame that a freshly started model was asked about; `now` is None without an answer."""
    due = len(frame.labels)
    changed = due if now is None else sum(map(operator.ne, frame.labels, now))
    return AuditReport(fresh=due, fresh_changed=changed, fresh_unanswered=due if now is None else 0)


def lone_report(frame: KeptFrame, now: Sequence[int] | None) -> AuditReport:
    """Return the counts of one image that this model was asked about alone; `now` is None without an answer."""
    return AuditReport(alone=1, alone_changed=now is None or now[0] != frame.labels[0])


def _distance(squared: float) -> float:
    return float(squared**0.5 / 255.0)


class Reservoir(Generic[Kept]):
    """A uniform sample of at most `room` items of a stream of unknown length (Vitter 1985, algorithm R)."""

    def __init__(self, room: int, rng: random.Random) -> None:
        self._room = room
        self._rng = rng
        self._seen = 0
        self.kept: list[Kept] = []

    def slot(self) -> int | None:
        """Return the place of the next item of the stream, None where it is skipped."""
        self._seen += 1
        if len(self.kept) < self._room:
            return len(self.kept)
        slot = int(self._rng.random() * self._seen)
        return slot if slot < self._room else None

    def put(self, slot: int, kept: Kept) -> None:
        """Keep the item `kept` in the place that `slot` returned for it."""
        self.kept[slot : slot + 1] = [kept]


class Audit:
    """The frames and images kept of one piece, and the outcome of asking about them again in the piece."""

    def __init__(self, seed: int, most_queries: int) -> None:
        """Prepare for a piece in which at most `most_queries` images are forwarded."""
        self._rng = random.Random(seed)
        self._sizes: list[int] = []
        self._images = Reservoir[ReplayedImage](max(LEAST_PER_PIECE, int(most_queries * RATE)), self._rng)
        self._frames = Reservoir[KeptFrame](MOST_FRAMES, self._rng)
        self._report = AuditReport()

    def watch(self, images: Images, labels: Sequence[int], squared: Sequence[float], *, whole: bool = True) -> None:
        """Note a forwarded frame, (n, bytes of an image): its size, some of its images, and the frame if `whole`.

        The frame of the clean images must not be kept: a model with memory remembers exactly these.
        """
        if len(self._sizes) < MOST_SIZES:
            self._sizes.append(len(labels))
        for index, label in enumerate(labels):
            slot = self._images.slot()
            if slot is not None:
                self._images.put(slot, ReplayedImage(images[index].copy(), label, squared[index]))
        slot = self._frames.slot() if whole else None
        if slot is not None:
            self._make_room(images.nbytes)
            slot = min(slot, len(self._frames.kept))
            self._frames.put(slot, KeptFrame(images.copy(), tuple(labels), _distance(max(squared))))

    def _make_room(self, size: int) -> None:
        kept = self._frames.kept
        while kept and sum(frame.images.nbytes for frame in kept) + size > MOST_FRAME_BYTES:
            kept.pop(self._rng.randrange(len(kept)))

    def replays(self) -> list[ReplayedImage]:
        """Return the images to replay, in random order."""
        return self._rng.sample(self._images.kept, len(self._images.kept))

    def fresh_frames(self) -> tuple[KeptFrame, ...]:
        """Return the frames for a freshly started model, and count their images as due."""
        chosen: list[KeptFrame] = []
        for frame in self._rng.sample(self._frames.kept, len(self._frames.kept)):
            if sum(len(one.labels) for one in chosen) >= ENOUGH_FRESH:
                break
            chosen.append(frame)
        self._add(fresh_due=sum(len(frame.labels) for frame in chosen))
        return tuple(chosen)

    def alone(self) -> tuple[KeptFrame, ...]:
        """Return the images that the same model is asked about one by one, none of them twice.

        An attack that finds an image whose label depends on its company could otherwise fill the audit with it.
        """
        distinct = {replay.image.tobytes(): replay for replay in self.replays()}
        chosen = list(distinct.values())[:MOST_ALONE]
        return tuple(KeptFrame(one.image[np.newaxis], (one.label,), _distance(one.squared)) for one in chosen)

    def count(self, before: int, now: int) -> None:
        """Note the outcome of one replay in another frame."""
        self._add(replayed=1, changed=before != now)

    def judge(self, *, denied: bool) -> None:
        """Note the outcome of one verdict query."""
        self._add(judged=1, denied=denied)

    def _add(self, **more: int) -> None:
        self._report = replace(self._report, **{name: getattr(self._report, name) + n for name, n in more.items()})

    @property
    def report(self) -> AuditReport:
        """The counts of the audit so far."""
        return self._report

    def shuffled_frames(self, count: int) -> list[list[int]]:
        """Return the indices 0 to count-1 in random order, cut into frames with sizes drawn from those of the piece.

        The last frame is filled up to its size with indices that also stand in other frames.
        """
        order = self._rng.sample(range(count), count)
        cut: list[list[int]] = []
        while order:
            size = self._size()
            part, order = order[:size], order[size:]
            cut.append(self._filled(part, size, count))
        return cut

    def _size(self) -> int:
        return self._rng.choice(self._sizes) if self._sizes else 1

    def _filled(self, part: list[int], size: int, count: int) -> list[int]:
        """Return `part` filled up to `size` with other indices below `count`, repeated only when none are left."""
        others = sorted(set(range(count)) - set(part))
        part = part + self._rng.sample(others, min(size - len(part), len(others)))
        return part + [self._rng.randrange(count) for _ in range(size - len(part))]
