"""The preview of a round: what publishing it would change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from competitions.models import Track
from rounds.models import Round, RoundEntry
from submissions.models import Player, Submission


@dataclass(frozen=True)
class Moved:
    """An entry's place on the leaderboard and in the round. `rank_before` is None for an entry not on the leaderboard.

    `why` is a sentence on what decided its place. `gone`: "withdrawn", "disqualified", "inconsistent", or empty; an
    entry that is gone is no opponent afterwards. `notes` say what organisers should know of it, and `warning` is a
    sentence on what they should do before they publish, "" for most.
    """

    team: str
    title: str
    rank_before: int | None
    place: int | None
    why: str
    gone: str
    notes: tuple[str, ...] = ()
    warning: str = ""

    @property
    def remark(self) -> str:
        """Why it is no opponent afterwards, and the notes; empty for most."""
        return ", ".join(filter(None, [self.gone, *self.notes]))


@dataclass(frozen=True)
class Preview:
    """What publishing changes in one track.

    `pool_after` is empty if the pool stays: the track had no entries, or the format has no pools.
    """

    track: Track
    rows: Sequence[Moved]
    pool_before: Sequence[Player] = ()
    pool_after: Sequence[Player] = ()


def preview_digest(round_: Round, views: Sequence[Preview]) -> str:
    """Return a digest of what the preview promises: the outcome, the pools, and the remarks on entries.

    Leaderboard ranks are not part of it: they change while the preview is open, and publishing does not set them.
    """
    promised = [
        [
            view.track.name,
            [player.digest for player in view.pool_before],
            [player.digest for player in view.pool_after],
            [[row.place, row.remark] for row in view.rows],
        ]
        for view in views
    ]
    return hashlib.sha256(json.dumps([round_.outcome, promised]).encode()).hexdigest()


def pool_sentences(views: Sequence[Preview]) -> list[str]:
    """Return a sentence on the new pool of each track, best player first."""
    return [
        f"Pool of the {view.track.name} track: {', '.join(player.title for player in view.pool_after)}."
        for view in views
        if view.pool_after
    ]


def warnings(views: Sequence[Preview]) -> list[str]:
    """Return the warnings about ranked entries, best place first within a track."""
    return [row.warning for view in views for row in view.rows if row.warning]


def ranked_entries(round_: Round) -> list[RoundEntry]:
    """Return the entries with a place, best first, with everything that a preview needs of them."""
    placed = round_.entries.filter(place__isnull=False)
    related = placed.select_related("track", "player", "submission__repository__entry__team")
    return list(related.order_by("place", "order"))


def moved(entry: RoundEntry, why: str = "", rank_before: int | None = None, **more: Any) -> Moved:
    """Return the row of an entry; `more` are its notes and its warning."""
    team, title = entry.submission.repository.entry.team.name, entry.submission.title
    return Moved(team, title, rank_before, entry.place, why, gone_of(entry), **more)


def places_of(round_: Round, row: Callable[[RoundEntry], Moved]) -> list[Preview]:
    """Return the places of each track, as `row` shows them, for a format without pools."""
    entries = ranked_entries(round_)
    return [
        Preview(track, [row(entry) for entry in entries if entry.track_id == track.pk])
        for track in round_.competition.tracks.all()
    ]


def gone_of(entry: RoundEntry) -> str:
    """Return "withdrawn", "disqualified", "inconsistent" (it left because its audits failed), or "" for most."""
    if entry.submission.disqualified_at:
        return "disqualified"
    if entry.submission.state == Submission.State.WITHDRAWN:
        return "withdrawn"
    return "inconsistent" if entry.inconsistent else ""
