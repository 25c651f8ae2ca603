"""Released files of a round, with their sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from core import object_store
from rounds.models import Release


@dataclass(frozen=True)
class ReleasedFile:
    """A released part that is one file. `bytes` is its size, None if the file is missing."""

    part: str
    title: str
    released_at: datetime
    bytes: int | None


def files(public: Iterable[Release]) -> Sequence[ReleasedFile]:
    """Return the files among the public parts of a round."""
    return [
        ReleasedFile(each.part, each.get_part_display(), each.released_at, object_store.size(each.content))
        for each in public
        if each.content
    ]
