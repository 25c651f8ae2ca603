"""What the push gate learns of a commit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckedCommit:
    """What a commit says about itself: title and licence of its manifest, and in one line how it will be built."""

    title: str
    licence: str
    plan: str
