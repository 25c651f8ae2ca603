"""Maximum size of a round: its result bundle must be small enough to be written, read and verified."""

from __future__ import annotations

from evaluation.bundle.size_limit import check_bytes, check_lines
from evaluation.formats.transfer.rules import TransferRules

_HEAD_BYTES = 100_000
_PLAYER_BYTES = 8_000
"""Its entrant and its standing, with the titles and teams of identical submissions."""
_LINE_BYTES = 67 + 300
"""The fixed part of a line, and its digest in the signature."""
_HASH_BYTES = 67
_REASON_BYTES = 22
_FIX = "draw fewer samples, or withdraw entries"


def check_size(attacks: int, defences: int, samples: int, rules: TransferRules) -> None:
    """Raise `Refusal` if the bundle of a round of so many players could exceed the limits of the reader."""
    batches = -(-samples // rules.batch_images)
    pairs = attacks * defences
    lines = 2 + batches + 2 * (attacks + defences) + attacks * batches + pairs
    check_lines(lines, f"would have {lines:,} lines", fix=_FIX)
    digits = max(len(str(rules.classes)), len("-1")) + 1
    size = (
        _HEAD_BYTES
        + _LINE_BYTES * lines
        + _PLAYER_BYTES * (attacks + defences)
        + (_HASH_BYTES * (attacks + 1) + 2 * digits) * samples
        + pairs * (samples * digits + _REASON_BYTES * batches)
    )
    check_bytes(size, fix=_FIX)
