"""The pages of formats whose leaderboards are tables of columns, and whose work is rows of one table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, Min, QuerySet
from django.http import Http404, HttpRequest
from django.urls import URLPattern

from competitions.board_freezes import frozen_since, sees_live
from competitions.models import Competition, Entry, RulesVersion, Track
from evaluation.charts.chart_table import ChartTable
from pages.board.freeze_notice import Freeze, freeze_of
from pages.board.track_cards import TOP, CardRow, TrackCard
from pages.competition.rules_table import RuleRow, clean_accuracy, images
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
    StandingContent,
    SubmissionContent,
    SubmissionInList,
    TeamContent,
    WithoutHistory,
    WorkQueue,
)
from pages.share.picture import SharedRow
from pages.status.incident_types import Incident, RowsToFix, Urgency
from pages.submission.progress_steps import steps_of
from rounds.models import Release, Round
from rounds.selectors import StandingRow, standings
from submissions.column_leaderboard import Column, PlainBoard, PlainRow
from submissions.models import Build, Submission
from submissions.selectors import tried_by_track
from workers.work_item_models import WorkItem

PARTS = "pages/plain"

FAILED = "It does not play again by itself. Fix the cause that the log of the workers names."
FAULTY = "Faults on one host, or failures of hosts: another host tries again, or the same one later."
"""What organisers read about the rows of work that need them."""


class PlainPages(WithoutHistory):
    """See `pages.formats.PageFormat`. A format sets the names below, and adds `origin`."""

    board_of: ClassVar[PlainBoard]
    """Its leaderboards."""
    items: ClassVar[type[WorkItem]]
    """The table of its work."""
    title: ClassVar[str]
    """The format, as a title."""
    about: ClassVar[str]
    """The template that explains it."""
    tracks: ClassVar[Sequence[str]]
    """The names of its tracks."""
    colours: Mapping[str, str]
    attack_tracks: Collection[str] = ()

    def urls(self) -> Sequence[URLPattern]:
        return ()

    def board(self, request: HttpRequest, track: Track) -> BoardContent:
        freeze = freeze_of(track.competition, request.user)
        context = {"columns": self.board_of.columns, "rows": self._seen(request, track), "frozen": freeze}
        template = f"{PARTS}/board.html"
        return BoardContent(template=template, context=context, live=f"{PARTS}/rows.html", every=None)

    def board_table(self, request: HttpRequest, track: Track) -> ChartTable:
        columns = ("rank", "team", "submission", *(column.name for column in self.board_of.columns))
        rows = self._seen(request, track)
        return ChartTable(columns, [(row.rank, row.team, row.submission.title, *row.scored.values) for row in rows])

    def cards(self, tracks: Sequence[Track], freezes: Mapping[int, Freeze]) -> Sequence[TrackCard]:
        return [self._card(track, freezes.get(track.competition_id)) for track in tracks]

    def shared_rows(
        self, tracks: Sequence[Track], freezes: Mapping[int, Freeze], most: int
    ) -> Mapping[int, Sequence[SharedRow]]:
        return {
            track.pk: [
                SharedRow(str(row.rank), row.team, row.cells[0])
                for row in (() if track.competition_id in freezes else self.board_of.rows(track)[:most])
            ]
            for track in tracks
        }

    def public_scores(self, track: Track, most: int, entry: Entry | None = None) -> Sequence[PublicScore]:
        rows = [] if frozen_since(track.competition) else self.board_of.rows(track)
        found = [
            PublicScore(row.submission, row.scored.scored_at, f"{self._score.title} {row.cells[0]}")
            for row in rows
            if entry in (None, row.submission.repository.entry)
        ]
        return sorted(found, key=lambda each: each.scored_at, reverse=True)[:most]

    def shared_winner(self, row: StandingRow) -> SharedRow:
        return SharedRow(str(row.place), row.team, "" if row.value is None else self._score.shown(row.value))

    def matrix(self, request: HttpRequest, attacks: Track, played: Round | None) -> MatrixContent:
        raise Http404("no pairs")

    def gallery(self, request: HttpRequest, played: Round, attacks: Track) -> Content:
        raise Http404("no images")

    def curves(self, request: HttpRequest, track: Track) -> Content:
        raise MissingPageError("In this format there are no distances, so there are no curves.")

    def history(self, request: HttpRequest, track: Track) -> Content:
        raise MissingPageError("In this format there is no history of scores.")

    @property
    def round_texts(self) -> RoundTexts:
        return RoundTexts(published=f"{PARTS}/published.html", in_short=self.about, in_full=self.about)

    def home(self) -> HomeTexts:
        return HomeTexts(
            lead=self.title,
            match="",
            scoring=self._better(),
            track=self.tracks[0],
            example="submission",
            drawing=self.about,
        )

    def guide(self) -> Guide:
        return Guide(self.title, self.tracks, "alone", *[self.about] * 4)

    def overview(self, competition: Competition) -> Overview:
        return Overview((), Content(template=self.about))

    def rules(self, version: RulesVersion) -> Sequence[RuleRow]:
        rules = version.engine_rules
        return [images(rules.shape, rules.classes), clean_accuracy(version, "")]

    def class_numbers(self) -> ClassNumbers:
        return ClassNumbers("Class", 0)

    def team(
        self, request: HttpRequest, entry: Entry, submissions: Collection[Submission], *, inside: bool
    ) -> TeamContent:
        live = sees_live(request.user, entry.competition)
        tracks = list(entry.competition.tracks.all()) if inside or live else []
        rows = {track.pk: self._own(track, entry) for track in tracks}
        scored = {row.submission.pk: row for row in rows.values() if row}
        tried = tried_by_track(entry)
        return TeamContent(
            which_counts="On each track the newest submission with a score counts.",
            standings={
                track.pk: StandingContent(
                    template=f"{PARTS}/standing.html",
                    context={"row": (row := rows.get(track.pk)), "ranked": live, "tried": tried.get(track.pk, 0)},
                    submission=row.submission.pk if row else None,
                )
                for track in entry.competition.tracks.all()
            },
            submissions={
                each.pk: SubmissionInList(
                    Submission.State(each.state),
                    Content(template=f"{PARTS}/score.html", context={"row": row})
                    if (row := scored.get(each.pk))
                    else None,
                )
                for each in submissions
            },
        )

    def submission(
        self, request: HttpRequest, shown: Submission, builds: Sequence[Build], *, inside: bool
    ) -> SubmissionContent:
        track, entry = shown.repository.track, shown.repository.entry
        live = sees_live(request.user, track.competition)
        own = self._own(track, entry) if inside or live else None
        row = own if own and own.submission == shown else None
        return SubmissionContent(
            template=f"{PARTS}/submission.html",
            context={"row": row, "ranked": live},
            state=Submission.State(shown.state),
            steps=steps_of(shown, builds, scored=row is not None),
            final=row is not None,
        )

    def round_progress(self, played: Round) -> RoundProgress:
        items: QuerySet[Any] = self.items._default_manager.all()
        items = items.filter(round=played)
        done, total = items.filter(state=WorkItem.State.PLAYED).count(), items.count()
        words = f"{intcomma(done)} of {intcomma(total)} {self.items._meta.verbose_name_plural} played"
        return RoundProgress(stage="", words=words, note="", played=done, total=total)

    def match_address(self, shown: Round, key: str) -> str:
        """Return "": entries meet nobody."""
        return ""

    def round_results(
        self, request: HttpRequest, shown: Round, tracks: Sequence[Track], public: Mapping[str, Release]
    ) -> RoundContent:
        rows = standings(shown)
        found = [(track, [(row, self.shared_winner(row).score) for row in rows[track.name]]) for track in tracks]
        return RoundContent(template=f"{PARTS}/round.html", context={"places": found})

    def round_figures(self, request: HttpRequest, shown: Round, tracks: Sequence[Track]) -> RoundFigures:
        return RoundFigures()

    def queue(self) -> WorkQueue:
        waiting = self._waiting().aggregate(count=Count("pk"), since=Min("queued_at"))
        named = self.items._meta
        return WorkQueue(
            title=str(named.verbose_name_plural).capitalize(),
            noun=str(named.verbose_name),
            waiting=waiting["count"],
            claimed=self._items(WorkItem.State.CLAIMED).count(),
            oldest_since=waiting["since"],
        )

    def held_by_workers(self) -> Mapping[str, int]:
        claimed = self._items(WorkItem.State.CLAIMED).order_by()
        return dict(claimed.values_list("worker").annotate(count=Count("pk")))

    def stuck_work(self) -> int:
        return self._stuck().count()

    def incidents(self, live: Collection[str]) -> Sequence[Incident]:
        return ()

    def rows_to_fix(self) -> Sequence[RowsToFix]:
        failed, faulty = self._items(WorkItem.State.FAILED), self._stuck()
        return (
            RowsToFix(Urgency.FAILED, f"{self.title}: work ended by platform errors", failed, FAILED),
            RowsToFix(Urgency.WAITS, f"{self.title}: work that waits after faults", faulty, FAULTY),
        )

    def last_score_at(self) -> datetime | None:
        newest: datetime | None = (
            self._items(WorkItem.State.PLAYED).order_by("-claimed_at").values_list("claimed_at", flat=True).first()
        )
        return newest

    @property
    def _score(self) -> Column:
        return self.board_of.columns[0]

    def _better(self) -> str:
        return "Larger is better" if self._score.larger_is_better else "Smaller is better"

    def _seen(self, request: HttpRequest, track: Track) -> list[PlainRow]:
        return self.board_of.rows(track) if sees_live(request.user, track.competition) else []

    def _own(self, track: Track, entry: Entry) -> PlainRow | None:
        own = (row for row in self.board_of.rows(track) if row.submission.repository.entry_id == entry.pk)
        return next(own, None)

    def _card(self, track: Track, freeze: Freeze | None) -> TrackCard:
        return TrackCard(
            track=track,
            top=[] if freeze else [_card_row(row) for row in self.board_of.rows(track)[:TOP]],
            frozen=freeze,
            hides=True,
            better=self._better(),
            nothing="Hidden during the freeze." if freeze else "No scores yet.",
        )

    def _items(self, state: WorkItem.State) -> QuerySet[Any]:
        return self.items._default_manager.filter(state=state)

    def _waiting(self) -> QuerySet[Any]:
        return self._items(WorkItem.State.WAITING).exclude(entry__competition__archived_at__isnull=False)

    def _stuck(self) -> QuerySet[Any]:
        return self._waiting().filter(WorkItem.STUCK)


def _card_row(row: PlainRow) -> CardRow:
    return CardRow(
        rank=row.rank,
        team=row.team,
        team_slug=row.team_slug,
        submission=row.submission.pk,
        title=row.submission.title,
        score=row.cells[0],
        interval="",
        scored_at=row.scored.scored_at,
    )
