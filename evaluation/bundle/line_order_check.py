"""Order of the lines of a bundle, of any format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evaluation.domain.errors import BundleRefusal


def in_order(lines: Iterable[Mapping[str, Any]], order: Mapping[str, int]) -> Iterator[Mapping[str, Any]]:
    """Yield the same lines, checking that each kind may stand where it does: `order` has the place of each kind.

    The head is the first line. Raise `BundleRefusal`.
    """
    reached = -1
    for number, line in enumerate(lines, start=1):
        kind = line["kind"]
        if kind not in order:
            raise BundleRefusal(number, f"lines of the kind {kind[:40]!r} are not part of a bundle of this format")
        if (kind == "head") != (number == 1):
            raise BundleRefusal(number, "the first line, and only that, must be the head")
        if order[kind] < reached:
            raise BundleRefusal(number, f"a line of the kind {kind} must come earlier")
        reached = order[kind]
        yield line
