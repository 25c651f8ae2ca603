"""The audit: is the model a stateless, deterministic function of one image?

About one forwarded image in a hundred is kept and asked about again: later, in another order and other company, among
the verdict queries of its piece, in frames of the piece's own sizes; and some of them once more by a freshly started
model, which has seen nothing yet and gets a part of them alone. Which image will be replayed nobody can know.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluation.domain.images import Image, Images
from evaluation.domain.results import AuditReport

RATE = 0.01
"""Share of the forwarded images that is replayed."""

LEAST_PER_PIECE = 16
"""How many images a piece contributes at the least, if so many were forwarded."""

MOST_SIZES = 4096
"""How many frame sizes of a piece are remembered."""

MOST_FRESH = 32
"""How many images of a piece a freshly started model is asked about at the most."""


@dataclass(frozen=True, eq=False)
class Replay:
    """A forwarded image, (bytes of an image,), the label it got then, its squared distance to the clean one."""

    image: Image
    label: int
    squared: float


class Reservoir:
    """A uniform choice of at most `room` from a stream of unknown length (Vitter 1985, algorithm R)."""

    def __init__(self, room: int, rng: random.Random) -> None:
        self._room = room
        self._rng = rng
        self._seen = 0
        self._kept: list[Replay] = []

    def slot(self) -> int | None:
        """Where the next of the stream goes, None where it is passed over."""
        self._seen += 1
        if len(self._kept) < self._room:
            return len(self._kept)
        slot = int(self._rng.random() * self._seen)
        return slot if slot < self._room else None

    def put(self, slot: int, replay: Replay) -> None:
        """Keep `replay` in the slot that was given for it."""
        self._kept[slot : slot + 1] = [replay]

    def take(self) -> list[Replay]:
        """All that was kept, in random order; the reservoir is empty afterwards and begins a new stream."""
        taken, self._kept, self._seen = self._kept, [], 0
        self._rng.shuffle(taken)
        return taken


class Audit:
    """What is kept of one piece, and what came out of asking again."""

    def __init__(self, seed: int, most_queries: int) -> None:
        """At most `most_queries` images will be forwarded in the piece."""
        self._rng = random.Random(seed)
        self._sizes: list[int] = []
        self._pending = Reservoir(max(LEAST_PER_PIECE, int(most_queries * RATE)), self._rng)
        self._fresh: list[Replay] = []
        self._report = AuditReport()

    def watch(self, images: Images, labels: Sequence[int], squared: Sequence[float]) -> None:
        """Note a forwarded frame: its size, and perhaps some of its images, (n, bytes of an image)."""
        if len(self._sizes) < MOST_SIZES:
            self._sizes.append(len(labels))
        for index, label in enumerate(labels):
            slot = self._pending.slot()
            if slot is not None:
                self._pending.put(slot, Replay(images[index].copy(), label, squared[index]))

    def take_pending(self) -> list[Replay]:
        """What is to be replayed now; some of it is kept for the fresh model."""
        taken = self._pending.take()
        distinct = {replay.image.tobytes(): replay for replay in taken}
        self._fresh = list(distinct.values())[:MOST_FRESH]  # they come in random order
        return taken

    def take_fresh(self) -> list[Replay]:
        """What the freshly started model is due to be asked about, the most perturbed first; each is counted as due.

        A model that calls an image what a similar one was called before has then nothing to cling to but images that
        lie beyond the boundary, and its answers to all that follow change.
        """
        self._add(fresh_due=len(self._fresh))
        return sorted(self._fresh, key=lambda replay: -replay.squared)

    def count(self, before: int, now: int) -> None:
        """Note the outcome of one replay by the model of the match."""
        self._add(replayed=1, changed=before != now)

    def judge(self, *, denied: bool) -> None:
        """Note the outcome of one verdict query."""
        self._add(judged=1, denied=denied)

    def count_fresh(self, before: int, now: int | None) -> None:
        """Note the outcome of one replay by the freshly started model; None where it gave no answer at all."""
        self._add(fresh=1, fresh_changed=before != now, fresh_unanswered=now is None)

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

    def fresh_frames(self, count: int, first: int) -> list[list[int]]:
        """Indices 0 to count-1 in order, cut into frames for a fresh model.

        The first frame has `first` images, as the clean images of a piece have that a match begins with; of the others
        every second holds one image alone, and the rest have sizes of the piece's own.
        """
        order = list(range(count))
        cut: list[list[int]] = []
        while order:
            size = first if not cut else 1 if len(cut) % 2 else self._size()
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
