"""Names of the tags that make submissions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

SUBMISSION_PREFIX = "submission-"
"""A pushed tag with this prefix is a submission."""

_NUMBERED = re.compile(rf"{SUBMISSION_PREFIX}([0-9]{{1,9}})")


def next_tag(taken: Iterable[str]) -> str:
    """Return `submission-N`, with N one above the highest of the tags `taken`; other forms of tags do not count."""
    numbers = [int(found[1]) for tag in taken if (found := _NUMBERED.fullmatch(tag))]
    return f"{SUBMISSION_PREFIX}{max(numbers, default=0) + 1}"
