"""The pages of the query format."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import URLPattern, path, reverse

from accounts.models import User
from competitions.models import Competition, Entry, RulesVersion, Track
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import LineChart
from formats.query.challenges.selectors import stuck_challenges
from formats.query.matches.selectors import stuck_pieces
from formats.query.pages import (
    board,
    bracket_csv,
    challenge_views,
    curves,
    figures,
    history,
    incidents,
    introduction,
    match_views,
    matrix,
    origin_citation,
    overview,
    round_gallery,
    rounds,
    rules_table,
    submission,
    submission_choice_views,
    team,
)
from formats.query.tracks import ATTACK_TRACKS, MODEL, TARGETED, UNTARGETED
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
    Overview,
    PublicScore,
    RoundContent,
    RoundFigures,
    RoundProgress,
    RoundTexts,
    SubmissionContent,
    TeamContent,
    WorkQueue,
)
from pages.share.picture import SharedRow
from pages.status.incidents import Incident, RowsToFix
from rounds.models import Release, Round
from rounds.selectors import StandingRow
from submissions.models import Build, Submission


class QueryPages:
    """See `pages.formats.PageFormat`."""

    attack_tracks: Collection[str] = ATTACK_TRACKS
    colours: Mapping[str, str] = {
        MODEL: "#00696b",
        UNTARGETED: "#b33c11",
        TARGETED: "#a8236c",
    }
    round_texts = RoundTexts(
        published="formats/query/parts/round_published.html",
        in_short="formats/query/parts/schedule_in_short.html",
        in_full="formats/query/parts/schedule_in_full.html",
    )

    def urls(self) -> Sequence[URLPattern]:
        """Return the addresses of matches, their curves, challenges, choices of teams, and brackets."""
        curves_of_matches = "competitions/<slug:slug>/match-curves"
        return [
            path(curves_of_matches, match_views.compare, name="match_curves"),
            path(f"{curves_of_matches}/<slug:name>.csv", match_views.compare_csv, name="match_curves_csv"),
            path("matches/<int:number>", match_views.show, name="match"),
            path("matches/<int:number>/samples/<int:sample>/<slug:name>.png", match_views.image, name="match_image"),
            path("matches/<int:number>/<slug:name>.csv", match_views.table, name="match_table"),
            path("submissions/<int:number>/challenge", challenge_views.request_challenge, name="challenge_request"),
            path("submissions/<int:number>/challenge/new", challenge_views.challenge_new, name="challenge_new"),
            path("challenges/<int:number>", challenge_views.show, name="challenge"),
            path(
                "challenges/<int:number>/samples/<int:sample>/<slug:name>.png",
                challenge_views.image,
                name="challenge_image",
            ),
            path("submissions/<int:number>/choose", submission_choice_views.choose, name="choose"),
            path(
                "teams/<slug:slug>/repositories/<slug:track_name>/choose-newest",
                submission_choice_views.choose_newest,
                name="choose_newest",
            ),
            path(
                "competitions/<slug:slug>/rounds/<int:number>/bracket/<slug:track_name>.csv",
                bracket_csv.bracket_csv,
                name="round_bracket",
            ),
        ]

    def board(self, request: HttpRequest, track: Track) -> BoardContent:
        """Return a page of the leaderboard, sorted, searched, filtered, or of a past time, as the address asks for."""
        return board.board_content(request, track)

    def board_table(self, request: HttpRequest, track: Track) -> ChartTable:
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

    def public_scores(self, track: Track, most: int, entry: Entry | None = None) -> Sequence[PublicScore]:
        """Return the newest distances; while leaderboards are frozen, those before the freeze."""
        return board.public_scores(track, most, entry)

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

    def curves_table(self, request: HttpRequest, track: Track) -> ChartTable | None:
        """Return success against distance of submissions."""
        return curves.curves_table(request, track)

    def history(self, request: HttpRequest, track: Track) -> Content:
        """Return the best scores of all tracks over time, and the ranks of the best teams of one."""
        return history.history_content(request, track)

    def history_chart(self, request: HttpRequest, track: Track, name: str) -> LineChart | None:
        """Return one of these charts."""
        return history.history_chart(request, track, name)

    def team_history(self, entry: Entry, track: Track, user: User | AnonymousUser) -> Sequence[LineChart]:
        """Return the score and the rank of a team on a track over time."""
        return history.team_history(entry, track, user)

    def home(self) -> HomeTexts:
        """Return what the home page says of models and attacks that ask for labels."""
        return introduction.home()

    def guide(self) -> Guide:
        """Return what the documentation says of models and attacks that ask for labels."""
        return introduction.guide()

    def origin(self) -> Origin:
        """Return the challenge of 2018."""
        return origin_citation.origin()

    def overview(self, competition: Competition) -> Overview:
        """Return the pools in force."""
        return overview.overview(competition)

    def rules(self, version: RulesVersion) -> Sequence[RuleRow]:
        """Return every rule of a version; the defaults are those of 2018."""
        return rules_table.rules_rows(version)

    def class_numbers(self) -> ClassNumbers:
        """Return that classes are counted from 0."""
        return ClassNumbers("Number", 0)

    def team(
        self, request: HttpRequest, entry: Entry, submissions: Collection[Submission], *, inside: bool
    ) -> TeamContent:
        """Return ranks, choices, and what is better by luck."""
        return team.team_content(request, entry, submissions, inside=inside)

    def submission(
        self, request: HttpRequest, shown: Submission, builds: Sequence[Build], *, inside: bool
    ) -> SubmissionContent:
        """Return evaluation, opponents and rank."""
        return submission.submission_content(request, shown, builds, inside=inside)

    def round_progress(self, played: Round) -> RoundProgress:
        """Return the progress of a round in triples."""
        return rounds.progress_of(played)

    def match_address(self, shown: Round, key: str) -> str:
        """Return the address of the page of a match."""
        return reverse("pages:match", args=[key])

    def round_results(
        self, request: HttpRequest, shown: Round, tracks: Sequence[Track], public: Mapping[str, Release]
    ) -> RoundContent:
        """Return warnings, standings and bracket."""
        return rounds.round_content(request, shown, tracks, public)

    def round_figures(self, request: HttpRequest, shown: Round, tracks: Sequence[Track]) -> RoundFigures:
        """Return the robustness of the models against the first pool, and against the attacks that count."""
        return figures.round_figures(request, shown)

    def queue(self) -> WorkQueue:
        """Return the pieces that are not played."""
        return incidents.queue()

    def held_by_workers(self) -> Mapping[str, int]:
        """Return the number of pieces and challenges that each worker holds."""
        return incidents.held_by_workers()

    def stuck_work(self) -> int:
        """Return how many pieces and challenges wait after faults."""
        return stuck_pieces().count() + stuck_challenges().count()

    def incidents(self, live: Collection[str]) -> Sequence[Incident]:
        """Return failed and suspended matches, and evaluations without a score."""
        return incidents.incidents(live)

    def rows_to_fix(self) -> Sequence[RowsToFix]:
        """Return failed matches, evaluations without a score, and pieces that wait."""
        return incidents.rows_to_fix()

    def last_score_at(self) -> datetime | None:
        """Return when the newest evaluation was scored."""
        return incidents.last_score_at()
