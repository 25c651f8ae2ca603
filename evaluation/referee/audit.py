"""The audit: is the model a stateless, deterministic function of one image?

Two questions, with counts of their own. Is it a function of one image? About one forwarded image in a hundred is asked
about again in another order and other company, among the verdict queries of its piece, and some alone. Has it no state?
Whole frames are asked again, as they were, of a freshly started model, which has seen nothing yet. What is replayed
nobody can know.

The second question has the harder answer: labels of equal frames are equal, whatever they hold. In other company
rounding may flip a label at the decision boundary, and an attack can look for such images.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from evaluation.domain.images import Image, Images
from evaluation.domain.results import AuditReport

Kept = TypeVar("Kept")

RATE = 0.01
"""Share of the forwarded images that is replayed."""

LEAST_PER_PIECE = 16
"""How many images a piece contributes at the least, if so many were forwarded."""

MOST_SIZES = 4096
"""How many frame sizes of a piece are remembered."""

MOST_FRAMES = 32
"""How many frames of a piece are kept for a freshly started model."""

MOST_FRAME_BYTES = 64 << 20
"""How much memory the kept frames of a piece may take."""

ENOUGH_FRESH = 32
"""A freshly started model is asked about so many images of a piece, and the rest of the frame that reaches them."""

MOST_ALONE = 16
"""How many images of a piece it is then asked about one by one."""


@dataclass(frozen=True, eq=False)
class ReplayFrame:
    """A forwarded frame, (n, bytes of an image), its labels, and its largest squared distance to a clean image."""

    images: Images
    labels: tuple[int, ...]
    squared: float


@dataclass(frozen=True, eq=False)
class Replay:
    """A forwarded image, (bytes of an image,), the label it got then, its squared distance to the clean one."""

    image: Image
    label: int
    squared: float


class Reservoir(Generic[Kept]):
    """A uniform choice of at most `room` from a stream of unknown length (Vitter 1985, algorithm R)."""

    def __init__(self, room: int, rng: random.Random) -> None:
        self._room = room
        self._rng = rng
        self._seen = 0
        self.kept: list[Kept] = []

    def slot(self) -> int | None:
        """Where the next of the stream goes, None where it is passed over."""
        self._seen += 1
        if len(self.kept) < self._room:
            return len(self.kept)
        slot = int(self._rng.random() * self._seen)
        return slot if slot < self._room else None

    def put(self, slot: int, kept: Kept) -> None:
        """Keep `kept` in the slot that was given for it."""
        self.kept[slot : slot + 1] = [kept]


class Audit:
    """What is kept of one piece, and what came out of asking again."""

    def __init__(self, seed: int, most_queries: int) -> None:
        """At most `most_queries` images will be forwarded in the piece."""
        self._rng = random.Random(seed)
        self._sizes: list[int] = []
        self._images = Reservoir[Replay](max(LEAST_PER_PIECE, int(most_queries * RATE)), self._rng)
        self._frames = Reservoir[ReplayFrame](MOST_FRAMES, self._rng)
        self._report = AuditReport()

    def watch(self, images: Images, labels: Sequence[int], squared: Sequence[float], *, whole: bool = True) -> None:
        """Note a forwarded frame, (n, bytes of an image): its size, perhaps some images, perhaps the `whole` of it.

        The clean images must not be kept as a frame: they are what a model with a memory clings to.
        """
        if len(self._sizes) < MOST_SIZES:
            self._sizes.append(len(labels))
        for index, label in enumerate(labels):
            slot = self._images.slot()
            if slot is not None:
                self._images.put(slot, Replay(images[index].copy(), label, squared[index]))
        slot = self._frames.slot() if whole else None
        if slot is not None:
            self._make_room(images.nbytes)
            slot = min(slot, len(self._frames.kept))
            self._frames.put(slot, ReplayFrame(images.copy(), tuple(labels), max(squared)))

    def _make_room(self, size: int) -> None:
        kept = self._frames.kept
        while kept and sum(frame.images.nbytes for frame in kept) + size > MOST_FRAME_BYTES:
            kept.pop(self._rng.randrange(len(kept)))

    def replays(self) -> list[Replay]:
        """The images to be replayed, in random order."""
        return self._rng.sample(self._images.kept, len(self._images.kept))

    def fresh_frames(self) -> list[ReplayFrame]:
        """The frames that a freshly started model is due to be asked about, the most perturbed first.

        A model that calls an image what a similar one was called before has then nothing to cling to but images that
        lie beyond the boundary, and its answers to all that follow change. Their images are counted as due.
        """
        chosen: list[ReplayFrame] = []
        for frame in self._rng.sample(self._frames.kept, len(self._frames.kept)):
            if sum(len(one.labels) for one in chosen) >= ENOUGH_FRESH:
                break
            chosen.append(frame)
        self._add(fresh_due=sum(len(frame.labels) for frame in chosen))
        return sorted(chosen, key=lambda frame: -frame.squared)

    def alone(self) -> list[Replay]:
        """Images for the same model, to be asked about one by one."""
        return self.replays()[:MOST_ALONE]

    def count(self, before: int, now: int | None) -> None:
        """Note the outcome of one replay in other company; None where there was no answer at all."""
        self._add(replayed=1, changed=before != now)

    def judge(self, *, denied: bool) -> None:
        """Note the outcome of one verdict query."""
        self._add(judged=1, denied=denied)

    def count_fresh(self, before: Sequence[int], now: Sequence[int] | None) -> None:
        """Note the labels of a frame by the freshly started model; None where it gave no answer at all."""
        changed = len(before) if now is None else sum(map(operator.ne, before, now))
        self._add(fresh=len(before), fresh_changed=changed, fresh_unanswered=0 if now else len(before))

    def _add(self, **more: int) -> None:
        self._report = replace(self._report, **{name: getattr(self._report, name) + n for name, n in more.items()})

    @property
    def report(self) -> AuditReport:
        """The standing of the audit so far."""
        return self._report

    def shuffled_frames(self, count: int) -> list[list[int]]:
        """Indices 0 to count-1 in random order, cut into frames whose sizes are drawn from the piece's own.

        The last frame is filled up to its drawn size with indices that stand elsewhere too.
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
        """`part`, filled up to `size` with other indices below `count`; none twice, as long as there are others."""
        others = sorted(set(range(count)) - set(part))
        part = part + self._rng.sample(others, min(size - len(part), len(others)))
        return part + [self._rng.randrange(count) for _ in range(size - len(part))]
