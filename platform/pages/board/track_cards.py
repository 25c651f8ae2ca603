"""The top of the leaderboard of each track, as the pages that list competitions show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from competitions.models import Competition, Track
from pages.board.freeze_notice import Freeze, freezes_of
from pages.formats import page_formats

TOP = 3
"""Number of rows of a card."""


@dataclass(frozen=True)
class CardRow:
    """A row of a leaderboard: `score` and its `interval` as they are shown."""

    rank: int | None
    team: str
    team_slug: str
    submission: int | None
    title: str
    score: str
    interval: str
    scored_at: datetime


@dataclass(frozen=True)
class TrackCard:
    """A track and the top of its leaderboard.

    `frozen` is None if the leaderboard is live; `hides`: a freeze hides its scores, in place of showing those that were
    known at its start. `better` says which scores are better, and `nothing` why there is no row.
    """

    track: Track
    top: Sequence[CardRow]
    frozen: Freeze | None
    hides: bool
    better: str
    nothing: str


def cards(competition: Competition, user: User | AnonymousUser) -> Sequence[TrackCard]:
    """Return every track of a competition with the top three that the user may see."""
    return cards_of([competition], user)[competition.pk]


def cards_of(competitions: Collection[Competition], user: User | AnonymousUser) -> dict[int, list[TrackCard]]:
    """Return the `cards` of each competition, by its key, in a number of queries that does not depend on theirs."""
    tracks = Track.objects.filter(competition__in=competitions).select_related("competition__frozen_leaderboards")
    of_format: dict[str, list[Track]] = defaultdict(list)
    for track in tracks:
        of_format[track.competition.format].append(track)
    freezes = freezes_of(competitions, user)
    found: dict[int, list[TrackCard]] = {competition.pk: [] for competition in competitions}
    for name, of_name in of_format.items():
        for card in page_formats[name].cards(of_name, freezes):
            found[card.track.competition_id].append(card)
    return found
