"""What of the pages differs by the format of a competition. Everything else is the same for all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import URLPattern

from competitions.models import Entry, Track
from core.by_format import ByFormat
from evaluation.charts.lines import LineChart
from evaluation.charts.table import Table
from pages.heat_map import HeatMap
from rounds.models import Round
from rounds.selectors import StandingRow

if TYPE_CHECKING:
    from accounts.models import User
    from pages.freeze import Freeze
    from pages.share_picture import SharedRow
    from pages.track_cards import TrackCard


class MissingPageError(Exception):
    """A page that competitions of a format do not have. Its text tells the reader why."""


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a page shows in a format: its template, and what that needs besides what pages of all formats get."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BoardContent(Content):
    """A leaderboard. `live` is the template of the rows, which are read again every `every` seconds; None for never."""

    live: str
    every: int | None
    status: HTTPStatus = HTTPStatus.OK


@dataclass(frozen=True, kw_only=True)
class MatrixContent(Content):
    """A matrix. `chosen` is what of it is shown, as the query of an address; `suffix` is the same in names of files."""

    map: HeatMap
    chosen: str = ""
    suffix: str = ""


class PageFormat(Protocol):
    """What pages show of competitions of a format."""

    @property
    def attack_tracks(self) -> Collection[str]:
        """Names of the tracks of attacks: each has a matrix, and a gallery in every round."""

    @property
    def colours(self) -> Mapping[str, str]:
        """The colour of each track in pictures, by its name."""

    def urls(self) -> Sequence[URLPattern]:
        """Return the addresses of the pages that only this format has; their names are in the namespace `pages`."""

    def board(self, request: HttpRequest, track: Track) -> BoardContent:
        """Return the leaderboard of a track that the address and the reader of the request ask for."""

    def board_table(self, request: HttpRequest, track: Track) -> Table:
        """Return the whole leaderboard of a track. Raise `Refusal` for an address that cannot be read."""

    def cards(self, tracks: Sequence[Track], freezes: Mapping[int, Freeze]) -> Sequence[TrackCard]:
        """Return the card of each track, in their order; the number of queries does not depend on their number.

        `freezes` are those that apply to the reader, by the key of the competition.
        """

    def shared_rows(
        self, tracks: Sequence[Track], freezes: Mapping[int, Freeze], most: int
    ) -> Mapping[int, Sequence[SharedRow]]:
        """Return at most the first `most` rows of the leaderboard of each track by its key, as pictures show them."""

    def shared_winner(self, row: StandingRow) -> SharedRow:
        """Return a place of a published round as pictures show it."""

    def matrix(self, request: HttpRequest, attacks: Track, played: Round | None) -> MatrixContent:
        """Return the pairs of a track of attacks behind the leaderboards, or those of a published round.

        Raise `Http404` for an address that asks for a part that there is not.
        """

    def gallery(self, request: HttpRequest, played: Round, attacks: Track) -> Content:
        """Return the images that attacks made in a published round, for people who see all of them."""

    def curves(self, request: HttpRequest, track: Track) -> Content:
        """Return the submissions to a track that the address names, side by side. Raise `MissingPageError`."""

    def curves_table(self, request: HttpRequest, track: Track) -> Table | None:
        """Return the table of these curves; None without any."""

    def history(self, request: HttpRequest, track: Track) -> Content:
        """Return the leaderboards of a competition over time, with more of one track. Raise `MissingPageError`."""

    def history_table(self, request: HttpRequest, track: Track, name: str) -> Table | None:
        """Return the table of a chart of this page; None for an unknown name."""

    def team_history(self, entry: Entry, track: Track, user: User | AnonymousUser) -> Sequence[LineChart]:
        """Return the score and the rank of a team over time, as far as the person sees them; none without scores."""


page_formats: ByFormat[PageFormat] = ByFormat()
"""The pages of each format."""
