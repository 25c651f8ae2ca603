"""What of the pages differs by the format of a competition. Everything else is the same for all."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from django.contrib.auth.models import AnonymousUser
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import TextChoices
from django.http import HttpRequest
from django.urls import URLPattern

from competitions.models import Competition, Entry, RulesVersion, Track
from core.parts_by_format import ByFormat
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import LineChart
from pages.competition.citation import Origin
from pages.competition.rules_table import RuleRow
from pages.matrix.heat_map import HeatMap
from pages.status.incident_types import Incident, RowsToFix
from pages.submission.progress_steps import Step
from pages.submission.rank_explanation import RankExplanation
from rounds.models import Release, Round
from rounds.selectors import StandingRow
from submissions.models import Build, Submission

if TYPE_CHECKING:
    from accounts.models import User
    from pages.board.freeze_notice import Freeze
    from pages.board.track_cards import TrackCard
    from pages.share.picture import SharedRow


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


@dataclass(frozen=True, kw_only=True)
class SubmissionContent(Content):
    """State and score of a submission. `aside` and `below`, which follows the log, are for its team and the organisers.

    `final`: what it shows does not change any more, unless the submission is measured again. `why` says why it has its
    rank, on each leaderboard where it has one; the template includes `pages/submission/why_this_rank.html` for it.
    """

    state: TextChoices
    steps: Sequence[Step]
    final: bool
    aside: Content | None = None
    below: Content | None = None
    why: Sequence[RankExplanation] = ()


@dataclass(frozen=True, kw_only=True)
class StandingContent(Content):
    """A team on a track. `submission` is the one that it shows, whose state is not repeated; None if it shows none."""

    submission: int | None = None


@dataclass(frozen=True)
class SubmissionInList:
    """The state of a submission, and its score; None without one."""

    state: TextChoices
    score: Content | None


@dataclass(frozen=True, kw_only=True)
class TeamContent:
    """What the page of a team shows in a format.

    `which_counts` says which submission counts. `standings` is by the key of the track, `submissions` by their own.
    `frozen` is a notice while leaderboards are frozen, `below` follows the list of submissions, and `submit_note` says
    what a repository must contain.
    """

    which_counts: str
    standings: Mapping[int, StandingContent]
    submissions: Mapping[int, SubmissionInList]
    frozen: Content | None = None
    below: Content | None = None
    submit_note: Content | None = None


@dataclass(frozen=True)
class PublicScore:
    """A score that the public sees, in words. The submission comes with its track and its team."""

    submission: Submission
    scored_at: datetime
    words: str


@dataclass(frozen=True)
class RoundTexts:
    """Templates about rounds: what happened at the publication, and the schedule in short and in full."""

    published: str
    in_short: str
    in_full: str


@dataclass(frozen=True)
class RoundProgress:
    """Progress of a running round: what is played now, and how far that is, in numbers and in words."""

    stage: str
    words: str
    note: str
    played: int
    total: int


@dataclass(frozen=True)
class RoundFigures:
    """Figures of a round: charts, each of which is a file by its key, and further tables by the name of their file."""

    charts: Sequence[LineChart] = ()
    tables: Mapping[str, ChartTable] = field(default_factory=dict)

    def chart(self, name: str) -> LineChart | None:
        """Return the chart of a key, None for an unknown one."""
        return next((each for each in self.charts if each.key == name), None)

    def table(self, name: str) -> ChartTable | None:
        """Return the table of a name or of the chart of this key, None for an unknown one."""
        chart = self.chart(name)
        return self.tables.get(name) if chart is None else chart.table


@dataclass(frozen=True, kw_only=True)
class RoundContent(Content):
    """Results of a published round. `perturbed` are the downloads of released images; `charts`: it has charts.

    `figures` are what `PageFormat.round_figures` returns, made of what the results have read already.
    """

    charts: bool = False
    perturbed: Content | None = None
    figures: RoundFigures = field(default_factory=RoundFigures)


@dataclass(frozen=True)
class HomeTexts:
    """What the home page explains: `track` is that of its example, `example` the word for what it copies.

    `drawing` is the template of its picture.
    """

    lead: str
    match: str
    scoring: str
    track: str
    example: str
    drawing: str


@dataclass(frozen=True)
class Guide:
    """What the documentation explains: the tracks, the one of the example first, and templates of its sections.

    `evaluated` says where submissions are evaluated, as a part of a sentence about several formats. `tutorials` are the
    names of the documents that lead to a first submission in its tracks.
    """

    title: str
    tracks: Sequence[str]
    evaluated: str
    tracks_template: str
    submission_template: str
    evaluation_template: str
    scores_template: str
    tutorials: Sequence[str] = ()

    @property
    def new_player(self) -> str:
        """The command that copies an example into a repository."""
        return f"gauntlet new {self.tracks[0]} ."


@dataclass(frozen=True)
class Overview:
    """What the overview of a competition shows: links below the leaderboards as (address, title), and opponents."""

    links: Sequence[tuple[str, str]]
    opponents: Content


@dataclass(frozen=True)
class ClassNumbers:
    """How the classes are numbered in what submissions read and write: a title, and the number of the first class."""

    title: str
    first: int


@dataclass(frozen=True)
class WorkQueue:
    """What waits for workers, since when the oldest does, and what they hold. `noun` is what one item is called."""

    title: str
    noun: str
    waiting: int
    claimed: int
    oldest_since: datetime | None

    @property
    def words(self) -> str:
        """How much it is, in a sentence."""
        count = self.waiting + self.claimed
        return f"{intcomma(count)} {self.noun}{' waits' if count == 1 else 's wait'} in the queue."


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

    def board_table(self, request: HttpRequest, track: Track) -> ChartTable:
        """Return the whole leaderboard of a track. Raise `Refusal` for an address that cannot be read."""

    def cards(self, tracks: Sequence[Track], freezes: Mapping[int, Freeze]) -> Sequence[TrackCard]:
        """Return the card of each track, in their order; the number of queries does not depend on their number.

        `freezes` are those that apply to the reader, by the key of the competition.
        """

    def shared_rows(
        self, tracks: Sequence[Track], freezes: Mapping[int, Freeze], most: int
    ) -> Mapping[int, Sequence[SharedRow]]:
        """Return at most the first `most` rows of the leaderboard of each track by its key, as pictures show them."""

    def public_scores(self, track: Track, most: int, entry: Entry | None = None) -> Sequence[PublicScore]:
        """Return the scores on the leaderboard of a track as the public sees it, at most the `most` newest ones.

        With `entry` only those of a team. While leaderboards are frozen there is none that became known afterwards.
        """

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

    def curves_table(self, request: HttpRequest, track: Track) -> ChartTable | None:
        """Return the table of these curves; None without any."""

    def history(self, request: HttpRequest, track: Track) -> Content:
        """Return the leaderboards of a competition over time, with more of one track. Raise `MissingPageError`."""

    def history_chart(self, request: HttpRequest, track: Track, name: str) -> LineChart | None:
        """Return a chart of this page; None for an unknown name."""

    def team_history(self, entry: Entry, track: Track, user: User | AnonymousUser) -> Sequence[LineChart]:
        """Return the score and the rank of a team over time, as far as the person sees them; none without scores."""

    def home(self) -> HomeTexts:
        """Return what the home page says of the format."""

    def guide(self) -> Guide:
        """Return what the documentation says of the format."""

    def origin(self) -> Origin:
        """Return the competition whose rules and scores the format follows."""

    def overview(self, competition: Competition) -> Overview:
        """Return what the overview of a competition shows of opponents."""

    def rules(self, version: RulesVersion) -> Sequence[RuleRow]:
        """Return every rule of a version as text, with the defaults of those that it does not set."""

    def class_numbers(self) -> ClassNumbers:
        """Return how the classes are numbered."""

    def team(
        self, request: HttpRequest, entry: Entry, submissions: Collection[Submission], *, inside: bool
    ) -> TeamContent:
        """Return what the user of the request sees of the standings of a team, and of `submissions` of it.

        `inside`: for the team and the organisers.
        """

    def submission(
        self, request: HttpRequest, shown: Submission, builds: Sequence[Build], *, inside: bool
    ) -> SubmissionContent:
        """Return what the user of the request sees of a submission; `builds` are all its builds, the newest last."""

    @property
    def round_texts(self) -> RoundTexts:
        """Texts about rounds."""

    def round_progress(self, played: Round) -> RoundProgress:
        """Return the progress of a round that is under way, without names."""

    def round_results(
        self, request: HttpRequest, shown: Round, tracks: Sequence[Track], public: Mapping[str, Release]
    ) -> RoundContent:
        """Return the results of a published round; `public` are its released parts, `tracks` those of its competition.

        Raise `Http404` for an address that asks for a track that there is not.
        """

    def match_address(self, shown: Round, key: str) -> str:
        """Return the address of the page of a match of a round, "" without one; see `RoundFormat.find_matches`."""

    def round_figures(self, request: HttpRequest, shown: Round, tracks: Sequence[Track]) -> RoundFigures:
        """Return the figures of a published round, as far as the user of the request sees what they show."""

    def queue(self) -> WorkQueue:
        """Return what workers are to play."""

    def held_by_workers(self) -> Mapping[str, int]:
        """Return how much of it each worker holds, by its name."""

    def stuck_work(self) -> int:
        """Return how much of it waits after platform errors, to be tried again."""

    def incidents(self, live: Collection[str]) -> Sequence[Incident]:
        """Return what else delays results; `live` are the classes of the workers that play now."""

    def rows_to_fix(self) -> Sequence[RowsToFix]:
        """Return the kinds of rows that need a person."""

    def last_score_at(self) -> datetime | None:
        """Return when the newest score was computed."""


class WithoutHistory:
    """The answers of a format that keeps no scores: a page that it lacks raises `MissingPageError`, and says why."""

    def curves_table(self, request: HttpRequest, track: Track) -> ChartTable | None:
        return None

    def history_chart(self, request: HttpRequest, track: Track, name: str) -> LineChart | None:
        return None

    def team_history(self, entry: Entry, track: Track, user: User | AnonymousUser) -> Sequence[LineChart]:
        return ()


page_formats: ByFormat[PageFormat] = ByFormat("pages")
"""The pages of each format."""


def formats_named(names: Container[str]) -> list[PageFormat]:
    """Return the formats of these names in the order of registration; the first of all if none of them is named."""
    found = [page_formats[name] for name in page_formats if name in names]
    return found or [page_formats[name] for name in page_formats][:1]
