"""The pages of the transfer format."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import URLPattern, path
from django.utils.translation import gettext

from accounts.models import User
from competitions.models import Entry, Track
from evaluation.charts.lines import LineChart
from evaluation.charts.table import Table
from formats.transfer.pages import board, matrix, pair_views, round_gallery
from pages.formats import BoardContent, Content, MatrixContent, MissingPageError
from pages.freeze import Freeze
from pages.share_picture import SharedRow
from pages.track_cards import TrackCard
from rounds.models import Round
from rounds.selectors import StandingRow
from tournaments.selectors import ATTACKING


class TransferPages:
    """See `pages.formats.PageFormat`."""

    attack_tracks: Collection[str] = ATTACKING
    colours: Mapping[str, str] = {
        Track.Name.DEFENCE: "#00696b",
        Track.Name.ATTACK: "#b33c11",
        Track.Name.TARGETED_ATTACK: "#a8236c",
    }

    def urls(self) -> Sequence[URLPattern]:
        """Return the addresses of pairs, and of the pictures of what attacks made."""
        pair, of_round = "pairs/<key:attack>/<key:defence>", "competitions/<slug:slug>/rounds/<int:number>"
        image = f"{of_round}/images/<key:attack>/<key:sample>/<slug:name>.png"
        return [
            path(f"competitions/<slug:slug>/{pair}", pair_views.pair, name="transfer_pair"),
            path(f"{of_round}/{pair}", pair_views.round_pair, name="round_pair"),
            path(image, pair_views.round_image, name="round_image"),
        ]

    def board(self, request: HttpRequest, track: Track) -> BoardContent:
        """Return who counts, and who is being evaluated."""
        return board.board_content(request, track)

    def board_table(self, request: HttpRequest, track: Track) -> Table:
        """Return the whole leaderboard, without rows while it is hidden."""
        return board.board_table(request, track)

    def cards(self, tracks: Sequence[Track], freezes: Mapping[int, Freeze]) -> Sequence[TrackCard]:
        """Return the best shares of each track."""
        return board.cards(tracks, freezes)

    def shared_rows(
        self, tracks: Sequence[Track], freezes: Mapping[int, Freeze], most: int
    ) -> Mapping[int, Sequence[SharedRow]]:
        """Return the best shares of each track as pictures show them."""
        return board.shared_rows(tracks, freezes, most)

    def shared_winner(self, row: StandingRow) -> SharedRow:
        """Return a place of a round with its share."""
        return board.shared_winner(row)

    def matrix(self, request: HttpRequest, attacks: Track, played: Round | None) -> MatrixContent:
        """Return the share of images of each attack against each defence, over all batches or those of an epsilon."""
        return matrix.matrix_content(request, attacks, played)

    def gallery(self, request: HttpRequest, played: Round, attacks: Track) -> Content:
        """Return what the best attacks made of the images of a round."""
        return round_gallery.gallery_content(request, played, attacks)

    def curves(self, request: HttpRequest, track: Track) -> Content:
        """Raise `MissingPageError`: a share has no curve."""
        raise MissingPageError(gettext("In this format there are no distances, so there are no curves."))

    def curves_table(self, request: HttpRequest, track: Track) -> Table | None:
        """Return None: a share has no curve."""
        return None

    def history(self, request: HttpRequest, track: Track) -> Content:
        """Raise `MissingPageError`: no score is kept."""
        raise MissingPageError(
            gettext("In this format every score is over the current opponents, so there is no history of scores.")
        )

    def history_table(self, request: HttpRequest, track: Track, name: str) -> Table | None:
        """Return None: no score is kept."""
        return None

    def team_history(self, entry: Entry, track: Track, user: User | AnonymousUser) -> Sequence[LineChart]:
        """Return no chart: no score is kept."""
        return ()
