"""The audit: is the model a stateless, deterministic function of one image?

About one forwarded image in a hundred is kept and asked about again: later, in another order and other company, among
the verdict queries of its piece, and once more by a freshly started model, where some travel alone. A model cannot
know which image will be replayed, and the frames have the sizes of the match's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.images import Image, Images
from evaluation.domain.results import AuditReport

RATE = 0.01
"""Share of the forwarded images that is replayed."""

LEAST_PER_PIECE = 16
"""About how many images a piece contributes at the least, however small its budget."""

MOST_FRESH = 64
"""How many images a freshly started model is asked about at the most."""


@dataclass(frozen=True, eq=False)
class Replay:
    """An image that was forwarded, (bytes of an image,), and the label it got then."""

    image: Image
    label: int


class Audit:
    """What is kept of one match, and what came out of asking again."""

    def __init__(self, seed: int, expected_queries: int) -> None:
        """`expected_queries`: the most that a piece can forward; small pieces are replayed at a higher rate."""
        self._rng = np.random.default_rng(seed)
        self._rate = min(1.0, max(RATE, LEAST_PER_PIECE / max(expected_queries, 1)))
        self._until_next = int(self._rng.geometric(self._rate)) - 1
        self._sizes: list[int] = []
        self._pending: list[Replay] = []
        self._fresh: list[Replay] = []
        self.replayed = 0
        self.changed = 0

    def watch(self, images: Images, labels: Sequence[int]) -> None:
        """Note a forwarded frame: its size, and those of its images, (n, bytes of an image), that will be replayed."""
        count = len(labels)
        if len(self._sizes) < 4096:
            self._sizes.append(count)
        while self._until_next < count:
            self._pending.append(Replay(images[self._until_next].copy(), labels[self._until_next]))
            self._until_next += int(self._rng.geometric(self._rate))
        self._until_next -= count

    def take_pending(self) -> list[Replay]:
        """What the piece contributes, to be replayed now; a part of it is kept for the fresh model."""
        taken, self._pending = self._pending, []
        self._fresh += taken[: max(0, MOST_FRESH - len(self._fresh))]
        return taken

    def take_fresh(self) -> list[Replay]:
        """What the freshly started model is asked about, in random order."""
        taken, self._fresh = self._fresh, []
        return [taken[i] for i in self._rng.permutation(len(taken))]

    def count(self, before: int, now: int) -> None:
        """Note the outcome of one replay."""
        self.replayed += 1
        self.changed += before != now

    def shuffled_frames(self, count: int) -> list[list[int]]:
        """Indices 0 to count-1 in random order, cut into frames whose sizes are drawn from the match's own.

        The last frame is filled up to its drawn size with indices that stand elsewhere too.
        """
        order = self._rng.permutation(count).tolist()
        cut: list[list[int]] = []
        while order:
            size = self._sizes[int(self._rng.integers(len(self._sizes)))] if self._sizes else 1
            part, order = order[:size], order[size:]
            if len(part) < size:
                part += self._rng.integers(count, size=size - len(part)).tolist()
            cut.append(part)
        return cut

    def report(self) -> AuditReport:
        """The standing of the audit so far."""
        return AuditReport(self.replayed, self.changed)
