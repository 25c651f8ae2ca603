"""The pages of the query format."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import URLPattern, path

from accounts.models import User
from competitions.models import Entry, Track
from evaluation.charts.lines import LineChart
from evaluation.charts.table import Table
from formats.query.pages import board, curves, history, match_views, matrix, round_gallery
from pages.formats import BoardContent, Content, MatrixContent
from pages.freeze import Freeze
from pages.share_picture import SharedRow
from pages.track_cards import TrackCard
from rounds.models import Round
from rounds.selectors import StandingRow


class QueryPages:
    """See `pages.formats.PageFormat`."""

    attack_tracks: Collection[str] = matrix.ATTACK_TRACKS
    colours: Mapping[str, str] = {
        Track.Name.MODEL: "#00696b",
        Track.Name.UNTARGETED: "#b33c11",
        Track.Name.TARGETED: "#a8236c",
    }

    def urls(self) -> Sequence[URLPattern]:
        """Return the addresses of matches and of their curves."""
        curves_of_matches = "competitions/<slug:slug>/match-curves"
        return [
            path(curves_of_matches, match_views.compare, name="match_curves"),
            path(f"{curves_of_matches}/<slug:name>.csv", match_views.compare_csv, name="match_curves_csv"),
            path("matches/<int:number>", match_views.show, name="match"),
            path("matches/<int:number>/samples/<int:sample>/<slug:name>.png", match_views.image, name="match_image"),
            path("matches/<int:number>/<slug:name>.csv", match_views.table, name="match_table"),
        ]

    def board(self, request: HttpRequest, track: Track) -> BoardContent:
        """Return a page of the leaderboard, sorted, searched, filtered, or of a past time, as the address asks for."""
        return board.board_content(request, track)

    def board_table(self, request: HttpRequest, track: Track) -> Table:
        """Return the whole leaderboard, now or at a past time."""
        return board.board_table(request, track)

    def cards(self, tracks: Sequence[Track], freezes: Mapping[int, Freeze]) -> Sequence[TrackCard]:
        """Return the best distances of each track."""
        return board.cards(tracks, freezes)

    def shared_rows(
        self, tracks: Sequence[Track], freezes: Mapping[int, Freeze], most: int
    ) -> Mapping[int, Sequence[SharedRow]]:
        """Return the best distances of each track as pictures show them."""
        return board.shared_rows(tracks, freezes, most)

    def shared_winner(self, row: StandingRow) -> SharedRow:
        """Return a place of a round with its distance."""
        return board.shared_winner(row)

    def matrix(self, request: HttpRequest, attacks: Track, played: Round | None) -> MatrixContent:
        """Return the median distance of each model against each attack."""
        return matrix.matrix_content(request, attacks, played)

    def gallery(self, request: HttpRequest, played: Round, attacks: Track) -> Content:
        """Return the perturbations of a round, by model, by attack, or the smallest of each model."""
        return round_gallery.gallery_content(request, played, attacks)

    def curves(self, request: HttpRequest, track: Track) -> Content:
        """Return success against distance of submissions, and their scores side by side."""
        return curves.curves_content(request, track)

    def curves_table(self, request: HttpRequest, track: Track) -> Table | None:
        """Return success against distance of submissions."""
        return curves.curves_table(request, track)

    def history(self, request: HttpRequest, track: Track) -> Content:
        """Return the best scores of all tracks over time, and the ranks of the best teams of one."""
        return history.history_content(request, track)

    def history_table(self, request: HttpRequest, track: Track, name: str) -> Table | None:
        """Return the table of one of these charts."""
        return history.history_table(request, track, name)

    def team_history(self, entry: Entry, track: Track, user: User | AnonymousUser) -> Sequence[LineChart]:
        """Return the score and the rank of a team on a track over time."""
        return history.team_history(entry, track, user)
