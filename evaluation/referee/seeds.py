"""Seeds: one for each use, all from the match's."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, *parts: object) -> int:
    """A 64-bit seed for one use, from the match's seed; different uses never share a stream.

    It leads one way: who knows a derived seed does not know the match's, nor what else is derived from that.
    """
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
