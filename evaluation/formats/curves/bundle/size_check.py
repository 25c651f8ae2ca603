"""Maximum size of a round: its result bundle must be small enough to be read and verified."""

from __future__ import annotations

from evaluation.bundle.canonical_json import MOST_BYTES, MOST_LINES
from evaluation.domain.errors import Refusal

_HEAD_BYTES = 100_000
_LABEL_BYTES = 6
_MODEL_BYTES = 3_000
"""Its line without its numbers under each threat model, of which there are at most as many as attacks."""
_BENCHMARK_BYTES = 1_000
"""Its line without images, the numbers of a model, and what the signature holds for a line."""
_IMAGE_BYTES = 31
"""Of a benchmark: whether the image is right, and its distance in the shortest form that reads back, with commas."""

_FIX = "draw fewer samples, list fewer attacks, or withdraw entries"


def check_size(*, models: int, attacks: int, samples: int) -> None:
    """Raise `Refusal` if the bundle of a round in which so many attacks meet so many models could not be read."""
    lines = 2 + models * (1 + attacks)
    if lines > MOST_LINES:
        raise Refusal(
            f"the result bundle of the round would have {lines:,} lines, and at most {MOST_LINES:,} can be read",
            fix=_FIX,
        )
    benchmark = _BENCHMARK_BYTES + _IMAGE_BYTES * samples
    size = _HEAD_BYTES + _LABEL_BYTES * samples + models * (_MODEL_BYTES + attacks * benchmark)
    if size > MOST_BYTES:
        raise Refusal(
            f"the result bundle of the round could have {size:,} bytes, and at most {MOST_BYTES:,} can be read",
            fix=_FIX,
        )
