"""The pages of the transfer format."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from django.http import HttpRequest
from django.urls import URLPattern, path, reverse

from competitions.models import Competition, Entry, RulesVersion, Track
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import LineChart
from evaluation.formats.transfer.rules import FIRST_LABEL
from formats.transfer.pages import (
    board,
    figures,
    incidents,
    introduction,
    matrix,
    origin_citation,
    pair_views,
    round_gallery,
    rounds,
    rules_table,
    submission,
    team,
)
from formats.transfer.tournaments.selectors import held_by_workers
from formats.transfer.tracks import ATTACK, ATTACK_TRACKS, DEFENCE, TARGETED_ATTACK
from pages.board.freeze import Freeze
from pages.board.track_cards import TrackCard
from pages.competition.citation import Origin
from pages.competition.rules_table import RuleRow
from pages.formats import (
    BoardContent,
    ClassNumbers,
    Content,
    Guide,
    HomeTexts,
    MatrixContent,
    MissingPageError,
    Overview,
    PublicScore,
    RoundContent,
    RoundFigures,
    RoundProgress,
    RoundTexts,
    SubmissionContent,
    TeamContent,
    WithoutHistory,
    WorkQueue,
)
from pages.share.picture import SharedRow
from pages.status.incidents import Incident, RowsToFix
from rounds.models import Release, Round
from rounds.selectors import StandingRow
from submissions.models import Build, Submission


class TransferPages(WithoutHistory):
    """See `pages.formats.PageFormat`."""

    attack_tracks: Collection[str] = ATTACK_TRACKS
    colours: Mapping[str, str] = {
        DEFENCE: "#00696b",
        ATTACK: "#b33c11",
        TARGETED_ATTACK: "#a8236c",
    }
    round_texts = RoundTexts(
        published="formats/transfer/parts/round_published.html",
        in_short="formats/transfer/parts/schedule_in_short.html",
        in_full="formats/transfer/parts/schedule_in_full.html",
    )

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

    def board_table(self, request: HttpRequest, track: Track) -> ChartTable:
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

    def public_scores(self, track: Track, most: int, entry: Entry | None = None) -> Sequence[PublicScore]:
        """Return the newest shares; none while the leaderboards are hidden."""
        return board.public_scores(track, most, entry)

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
        raise MissingPageError("In this format there are no distances, so there are no curves.")

    def history(self, request: HttpRequest, track: Track) -> Content:
        """Return the best scores over the published rounds: those of leaderboards are not kept."""
        return figures.history_content(request, track)

    def history_chart(self, request: HttpRequest, track: Track, name: str) -> LineChart | None:
        """Return one of these charts."""
        return figures.history_chart(track, name)

    def home(self) -> HomeTexts:
        """Return what the home page says of attacks that send images."""
        return introduction.home()

    def guide(self) -> Guide:
        """Return what the documentation says of attacks that send images."""
        return introduction.guide()

    def origin(self) -> Origin:
        """Return the competition of 2017."""
        return origin_citation.origin()

    def overview(self, competition: Competition) -> Overview:
        """Return that there are no pools, and a link to the matrix."""
        return Overview(
            links=[(reverse("pages:matrix", args=[competition.slug, ATTACK]), "Matrix of attacks and defences")],
            opponents=Content(template="formats/transfer/parts/opponents.html"),
        )

    def rules(self, version: RulesVersion) -> Sequence[RuleRow]:
        """Return every rule of a version; the defaults are those of 2017."""
        return rules_table.rules_rows(version)

    def class_numbers(self) -> ClassNumbers:
        """Return that classes are counted from 1 in files."""
        return ClassNumbers("Label in files", FIRST_LABEL)

    def team(
        self, request: HttpRequest, entry: Entry, submissions: Collection[Submission], *, inside: bool
    ) -> TeamContent:
        """Return the scores that count."""
        return team.team_content(request, entry, submissions, inside=inside)

    def submission(
        self, request: HttpRequest, shown: Submission, builds: Sequence[Build], *, inside: bool
    ) -> SubmissionContent:
        """Return the standing, the pairs and the runs."""
        return submission.submission_content(request, shown, builds, inside=inside)

    def round_progress(self, played: Round) -> RoundProgress:
        """Return the progress of a round in runs."""
        return rounds.progress_of(played)

    def match_address(self, shown: Round, key: str) -> str:
        """Return the address of the page of a pair in the round."""
        return reverse("pages:round_pair", args=[shown.competition.slug, shown.number, *key.split("/")])

    def round_results(
        self, request: HttpRequest, shown: Round, tracks: Sequence[Track], public: Mapping[str, Release]
    ) -> RoundContent:
        """Return the standings."""
        return rounds.round_content(request, shown, tracks, public)

    def round_figures(self, request: HttpRequest, shown: Round, tracks: Sequence[Track]) -> RoundFigures:
        """Return all scores by place with the baselines."""
        return figures.round_figures(shown, tracks)

    def queue(self) -> WorkQueue:
        """Return the runs that are not played."""
        return incidents.queue()

    def held_by_workers(self) -> Mapping[str, int]:
        """Return the number of runs that each worker holds."""
        return held_by_workers()

    def stuck_work(self) -> int:
        """Return how many runs wait after faults."""
        return incidents.stuck_work()

    def incidents(self, live: Collection[str]) -> Sequence[Incident]:
        """Return failed runs."""
        return incidents.incidents(live)

    def rows_to_fix(self) -> Sequence[RowsToFix]:
        """Return failed runs, and runs that wait."""
        return incidents.rows_to_fix()

    def last_score_at(self) -> datetime | None:
        """Return when a player last began to count on a leaderboard."""
        return incidents.last_score_at()
