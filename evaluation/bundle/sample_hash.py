"""Hash by which bundles and commitments name a secret sample."""

from __future__ import annotations

import hashlib
import struct

from evaluation.domain.samples import Sample

NO_TARGET = -1
"""The target of a sample without one, in its hash and in bundles."""


def salted_hash(sample: Sample, salt: str) -> str:
    """Return the hexadecimal SHA-256 of a sample by which a bundle names it.

    The hashed bytes are: the salt in UTF-8, a zero byte, label and target as two signed 32-bit numbers (big-endian;
    target -1 for none), and the image's bytes (uint8, rows of pixels of channels). Without the salt, the images of a
    public data set cannot be tested against a hash.
    """
    target = NO_TARGET if sample.target is None else sample.target
    prefix = salt.encode() + b"\0" + struct.pack(">ii", sample.label, target)
    return hashlib.sha256(prefix + sample.image.tobytes()).hexdigest()
