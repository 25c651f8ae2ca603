"""Derived lines of a bundle of any format, and what its verification says about its body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluation.bundle.canonical_json import Canonical
from evaluation.bundle.checked_fields import quoted


@dataclass(frozen=True)
class DerivedLine:
    """A derived line as it stands in the file: its `content` is small, its parsed values are not."""

    number: int
    kind: str
    content: bytes

    @property
    def line(self) -> Mapping[str, Any]:
        """The parsed values, read again each time."""
        values: Mapping[str, Any] = json.loads(self.content)
        return values


def differences(line: Mapping[str, Any], due: Mapping[str, Any], origin: str, form: Canonical) -> str:
    """Return where a derived line differs from the one that is `due`; `origin` is what that follows from.

    Values are compared in their canonical `form`.
    """
    texts = [
        f"{name} is {quoted(line[name]) if name in line else 'missing'}, but the {origin} make it {quoted(value)}"
        for name, value in due.items()
        if name not in line or form(line[name]) != form(value)
    ]
    if unknown := sorted(line.keys() - due.keys()):
        texts.append(f"it has unknown fields: {quoted(unknown)}")
    return "; ".join(texts)


def about_commitments(samples: str, field: str, snapshot: str) -> tuple[str, ...]:
    """Return the lines of a summary on both commitments and on the snapshot hash of the round."""
    return (
        f"commitment to the samples {samples}",
        f"commitment to the field {field}",
        f"snapshot {snapshot}",
    )
