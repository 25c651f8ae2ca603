"""Maximum size of a bundle of any format, checked before its round is frozen."""

from __future__ import annotations

from evaluation.bundle.canonical_json import MOST_BYTES, MOST_LINES
from evaluation.domain.errors import Refusal


def check_lines(lines: int, would_have: str, *, fix: str) -> None:
    """Raise `Refusal` if a bundle of so many lines cannot be read; `would_have` says where they come from."""
    if lines > MOST_LINES:
        raise Refusal(f"the result bundle of the round {would_have}, and at most {MOST_LINES:,} can be read", fix=fix)


def check_bytes(size: int, *, fix: str) -> None:
    """Raise `Refusal` if a bundle that may have `size` bytes cannot be read."""
    if size > MOST_BYTES:
        raise Refusal(
            f"the result bundle of the round could have {size >> 20:,} MiB, and at most {MOST_BYTES >> 20:,} MiB can "
            "be read",
            fix=fix,
        )
