"""Seeds: one for each use, all from the match's."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, *parts: object) -> int:
    """A 64-bit seed for one use, from the match's seed; different uses never share a stream."""
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
