"""What the push gate learns of a commit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckedCommit:
    """What a commit says about itself: title and licence of its manifest, and in one line how it will be built.

    A submission of 2017 in the legacy environment has no image of its own (`own_image`): its files of packages are not
    read.
    """

    title: str
    licence: str
    plan: str
    own_image: bool = True
