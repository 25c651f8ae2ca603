"""Maximum size of a bundle of any format, checked before its round is frozen."""

from __future__ import annotations

from evaluation.bundle.body_in_parts import MOST_LINES, MOST_PARTS, MOST_TEXT_BYTES, PART_BYTES
from evaluation.domain.errors import Refusal


def check_lines(lines: int, would_have: str, *, fix: str) -> None:
    """Raise `Refusal` if a bundle of so many lines cannot be read; `would_have` says where they come from."""
    if lines > MOST_LINES:
        raise Refusal(f"the result bundle of the round {would_have}, and at most {MOST_LINES:,} can be read", fix=fix)


def check_bytes(text: int, columns: int, *, fix: str) -> None:
    """Raise `Refusal` if a bundle that may have so many bytes of lines and of columns cannot be read."""
    for size, most, what in (
        (text, MOST_TEXT_BYTES, "MiB of lines"),
        (text + columns, MOST_PARTS * PART_BYTES, "MiB"),
    ):
        if size > most:
            raise Refusal(
                f"the result bundle of the round could have {size >> 20:,} {what}, and at most {most >> 20:,} MiB can "
                "be read",
                fix=fix,
            )
