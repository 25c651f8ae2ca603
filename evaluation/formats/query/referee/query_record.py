"""The referee's record of one piece: the trace, and the closest adversarials of each sample."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.images import Image, Images
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.query_paths import QueryPaths
from evaluation.formats.query.results import Failure, Trace
from gauntlet import frames

CANDIDATES = 3
"""Number of the closest adversarials of a sample that are kept for the verdict."""

_ENTRY = struct.Struct("<HHIhf")
_ENTRY_TYPE = np.dtype([("sample", "<u2"), ("charged", "<u2"), ("query", "<u4"), ("label", "<i2"), ("distance", "<f4")])


def is_adversarial(label: int, sample: Sample, track: TrackName) -> bool:
    """Return True if `label` meets the criterion; without a valid label it does (Brendel et al. 2020, section 4.2)."""
    if label == frames.UNCLASSIFIED:
        return True
    return label == sample.target if track is TrackName.TARGETED else label != sample.label


@dataclass(eq=False)
class Candidate:
    """An adversarial among the queries. With `failure`, the referee saw the model fail on it: it needs no verdict."""

    squared: float
    image: Image
    label: int
    failure: Failure | None = None


class QueryRecord:
    """The answered queries of a piece. Its size is bounded by the budget, not by what the players do."""

    def __init__(
        self, samples: Sequence[Sample], track: TrackName, budget: int, paths: QueryPaths | None = None
    ) -> None:
        self._track = track
        self._paths = paths
        self._samples = {sample.number: sample for sample in samples}
        self._entries = bytearray(len(samples) * budget * _ENTRY.size)
        self._end = 0
        self.candidates: dict[int, list[Candidate]] = {sample.number: [] for sample in samples}

    def add(
        self,
        numbers: Sequence[int],
        charged: Sequence[int],
        queries: Sequence[int],
        images: Images,
        labels: Sequence[int],
        squared: Sequence[float],
        *,
        failure: Failure | None = None,
    ) -> None:
        """Note answered queries: the sample that was named, the one that paid, and the number of its query, from 1.

        A query that no sample could pay has number 0. `images` may be a view that changes later: kept images are
        copied.
        """
        entries = zip(numbers, charged, queries, labels, squared, strict=True)
        for index, (number, payer, query, label, value) in enumerate(entries):
            if query:
                _ENTRY.pack_into(self._entries, self._end, number, payer, query, label, value**0.5 / 255.0)
                self._end += _ENTRY.size
            if label == frames.EXHAUSTED:
                continue
            if self._paths is not None:
                self._paths.count(number)
            kept = self.candidates[number]
            nearer = len(kept) < CANDIDATES or value < kept[-1].squared
            if nearer and is_adversarial(label, self._samples[number], self._track):
                if self._paths is not None and value < (kept[0].squared if kept else math.inf):
                    self._paths.add(number, value, label, images[index])
                self._keep(kept, Candidate(value, images[index].copy(), label, failure))

    def _keep(self, kept: list[Candidate], new: Candidate) -> None:
        """Insert in order of distance; the earlier comes first among equals, and no image is kept twice."""
        if any(new.squared == other.squared and np.array_equal(new.image, other.image) for other in kept):
            return
        kept.append(new)
        kept.sort(key=lambda candidate: candidate.squared)
        del kept[CANDIDATES:]

    def trace(self) -> Trace:
        """Return everything noted so far, as copies."""
        entries = np.frombuffer(self._entries, _ENTRY_TYPE, self._end // _ENTRY.size)
        return Trace(*(entries[name].copy() for name in ("sample", "charged", "query", "label", "distance")))
