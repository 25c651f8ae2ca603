"""What the verification of a bundle of any format says about its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from evaluation.bundle.canonical_json import canonical
from evaluation.bundle.checked_fields import quoted


def differences(line: Mapping[str, Any], due: Mapping[str, Any], origin: str) -> str:
    """Return where a derived line differs from the one that is `due`; `origin` is what that follows from."""
    texts = [
        f"{name} is {quoted(line[name]) if name in line else 'missing'}, but the {origin} make it {quoted(value)}"
        for name, value in due.items()
        if name not in line or canonical(line[name]) != canonical(value)
    ]
    if unknown := sorted(line.keys() - due.keys()):
        texts.append(f"it has unknown fields: {quoted(unknown)}")
    return "; ".join(texts)


def about_commitments(samples: str, field: str, signed: Sequence[bytes]) -> tuple[str, ...]:
    """Return the lines of a summary on both commitments and on the snapshot hash of the `signed` lines."""
    return (
        f"commitment to the samples {samples}",
        f"commitment to the field {field}",
        f"snapshot {sha256(b''.join(signed)).hexdigest()}",
    )
