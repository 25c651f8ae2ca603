"""What a virtual team is: its entries are bundled submissions, unchanged or slightly changed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """A replaced line of a bundled submission."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class VirtualPush:
    """A team's submission to one track."""

    track: str
    like: str
    changes: tuple[Change, ...] = ()
    starts: str = ""
    """The data set from whose training images the start images are, if not those of the bundled submission."""
    made_for: str = ""
    """The data set on whose images it plays, if it is no baseline of a competition."""


@dataclass(frozen=True)
class VirtualTeam:
    """A team. The user name of its captain is the slug; `members` are invited and accept."""

    slug: str
    name: str
    entries: tuple[VirtualPush, ...]
    members: tuple[str, ...] = ()
