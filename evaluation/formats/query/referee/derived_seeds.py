"""Seeds for single uses, derived from the seed of a match."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, *parts: object) -> int:
    """Return a 64-bit seed for one use, derived from the match's seed; different uses never share a stream.

    The derivation is one-way: a derived seed reveals neither the match's seed nor other seeds derived from it.
    """
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
