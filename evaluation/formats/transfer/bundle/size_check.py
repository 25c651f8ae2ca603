"""Maximum size of a round: its result bundle must be small enough to be written, read and verified."""

from __future__ import annotations

from evaluation.bundle.size_check import check_bytes, check_lines
from evaluation.domain.errors import Refusal
from evaluation.formats.transfer.bundle.reader import MOST_IMAGES, MOST_LABELS, MOST_PLAYERS
from evaluation.formats.transfer.rules import TransferRules

_HEAD_BYTES = 100_000
_PLAYER_BYTES = 8_000
"""Its entrant and its standing, with the titles and teams of identical submissions."""
_LINE_BYTES = 400
_REASON_BYTES = 32
_HASH_BYTES, _LABEL_BYTES = 32, 2
_FIX = "draw fewer samples, or withdraw entries"


def check_size(attacks: int, defences: int, samples: int, rules: TransferRules) -> None:
    """Raise `Refusal` if the bundle of a round of so many players could exceed the limits of the reader."""
    pairs = attacks * defences
    for found, most, what in (
        (attacks + defences, MOST_PLAYERS, "players"),
        (attacks * samples, MOST_IMAGES, "images of attacks"),
        (pairs * samples, MOST_LABELS, "labels"),
    ):
        if found > most:
            raise Refusal(f"the round would have {found:,} {what}, and at most {most:,} can be verified", fix=_FIX)
    batches = -(-samples // rules.batch_images)
    lines = 2 + batches + 2 * (attacks + defences) + attacks * batches + pairs
    check_lines(lines, f"would have {lines:,} lines", fix=_FIX)
    # a run that failed is rare: the reasons of one in ten of them
    text = (
        _HEAD_BYTES + _LINE_BYTES * lines + _PLAYER_BYTES * (attacks + defences) + _REASON_BYTES * pairs * batches // 10
    )
    columns = (_HASH_BYTES * (attacks + 1) + _LABEL_BYTES * (pairs + 2)) * samples
    check_bytes(text, columns, fix=_FIX)
