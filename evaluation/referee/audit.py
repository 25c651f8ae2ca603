"""The audit: is the model a stateless, deterministic function of one image?

About one forwarded image in a hundred is kept and asked about again: later, in another order and other company, among
the verdict queries of its piece, and once more by a freshly started model, where some travel alone. A model cannot
know which image will be replayed, and the frames have the sizes of the match's own.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.domain.images import Image, Images
from evaluation.domain.results import AuditReport

RATE = 0.01
"""Share of the forwarded images that is replayed."""

LEAST_PER_PIECE = 16
"""How many images a piece contributes at the least, if so many were forwarded."""

MOST_SIZES = 4096
"""How many frame sizes of a match are remembered."""

MOST_FRESH = 64
"""How many images a freshly started model is asked about at the most."""


@dataclass(frozen=True, eq=False)
class Replay:
    """An image that was forwarded, (bytes of an image,), and the label it got then."""

    image: Image
    label: int


class Audit:
    """What is kept of one match, and what came out of asking again."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._sizes: list[int] = []
        self._seen = 0
        self._pending: list[Replay] = []
        self._fresh: list[Replay] = []
        self.replayed = 0
        self.changed = 0
        self.judged = 0
        self.denied = 0

    def watch(self, images: Images, labels: Sequence[int]) -> None:
        """Note a forwarded frame: its size, and perhaps some of its images, (n, bytes of an image).

        Reservoir sampling: at any moment what is kept is a uniform choice from all that the piece has forwarded.
        """
        if len(self._sizes) < MOST_SIZES:
            self._sizes.append(len(labels))
        for index, label in enumerate(labels):
            self._seen += 1
            room = max(LEAST_PER_PIECE, int(self._seen * RATE))
            if len(self._pending) < room:
                self._pending.append(Replay(images[index].copy(), label))
            elif self._rng.random() * self._seen < room:
                self._pending[self._rng.randrange(room)] = Replay(images[index].copy(), label)

    def take_pending(self) -> list[Replay]:
        """What the piece contributes, to be replayed now; a part of it is kept for the fresh model."""
        taken, self._pending, self._seen = self._pending, [], 0
        self._rng.shuffle(taken)
        self._fresh += taken[: max(0, MOST_FRESH - len(self._fresh))]
        return taken

    def take_fresh(self) -> list[Replay]:
        """What the freshly started model is asked about, in random order."""
        taken, self._fresh = self._fresh, []
        self._rng.shuffle(taken)
        return taken

    def count(self, before: int, now: int) -> None:
        """Note the outcome of one replay."""
        self.replayed += 1
        self.changed += before != now

    def judge(self, *, denied: bool) -> None:
        """Note the outcome of one verdict query."""
        self.judged += 1
        self.denied += denied

    def shuffled_frames(self, count: int) -> list[list[int]]:
        """Indices 0 to count-1 in random order, cut into frames whose sizes are drawn from the match's own.

        The last frame is filled up to its drawn size with indices that stand elsewhere too.
        """
        order = self._rng.sample(range(count), count)
        cut: list[list[int]] = []
        while order:
            size = self._rng.choice(self._sizes) if self._sizes else 1
            part, order = order[:size], order[size:]
            # no image twice in a frame, as long as there are others
            others = sorted(set(range(count)) - set(part))
            part += self._rng.sample(others, min(size - len(part), len(others)))
            part += [self._rng.randrange(count) for _ in range(size - len(part))]
            cut.append(part)
        return cut

    def report(self) -> AuditReport:
        """The standing of the audit so far."""
        return AuditReport(self.replayed, self.changed, self.judged, self.denied)
