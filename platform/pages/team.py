"""Data of the page of a team: standings, submissions with their scores, and how to submit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Max, QuerySet
from django.utils.translation import gettext_noop

from competitions.models import Entry, Track
from core import clock
from evaluation.domain.submission_tags import next_tag
from leaderboards.board_rows import BoardRow
from leaderboards.models import Evaluation
from leaderboards.visibility import evaluations_of, rows_of
from pages.counting import TeamChoice, choices_of_team
from pages.progress_steps import state_of
from pages.rounds import with_entries
from repositories.git_reader import CommitInfo
from repositories.models import Repository
from repositories.recent_commits import recent_of
from submissions.models import QuotaSlot, Submission
from submissions.quota import Allowance, allowance, allowance_of
from submissions.selectors import left_out, next_tag_of

SUBMISSIONS_PER_PAGE = 50
RECENT_COMMITS = 5

STATES: Mapping[str, tuple[str, Sequence[Submission.State]]] = {
    "under-way": (gettext_noop("Being built"), Submission.UNDER_WAY),
    "ready": (gettext_noop("Ready"), (Submission.State.READY,)),
    "rejected": (gettext_noop("Rejected"), (Submission.State.REJECTED,)),
    "withdrawn": (gettext_noop("Withdrawn"), (Submission.State.WITHDRAWN,)),
}
"""Filters of a list of submissions by name: a title, and the states that pass."""


@dataclass(frozen=True)
class ShownSubmission:
    """A submission in a list, with the evaluation that the user may see, and its state."""

    submission: Submission
    evaluation: Evaluation | None
    state: Submission.State | Evaluation.State

    @property
    def scored(self) -> bool:
        """Whether it has a score."""
        return self.evaluation is not None and self.evaluation.state == Evaluation.State.SCORED


@dataclass(frozen=True)
class TrackStanding:
    """A team on a track. `row` is its row on the leaderboard, None without a score.

    `newest` is its newest submission, which the row may not have yet; None before the first one. `choice` is what the
    team chose to count, None for others than the team and the organisers.
    """

    track: Track
    row: BoardRow | None
    newest: ShownSubmission | None
    choice: TeamChoice | None = None

    @property
    def waits(self) -> bool:
        """Whether the newest submission is not the one on the leaderboard."""
        return self.newest is not None and (self.row is None or self.newest.submission.pk != self.row.submission)


def standings_of(entry: Entry, *, frozen: bool, inside: bool, teams_choose: bool) -> list[TrackStanding]:
    """Return the standing of a team on each track of its competition; `teams_choose`: whether the rules allow it."""
    rows = {track.pk: row for track, row in rows_of(entry, frozen=frozen)}
    newest = _of(entry).order_by().values("repository").annotate(newest=Max("pk")).values("newest")
    found = list(_of(entry).filter(pk__in=newest).select_related("repository"))
    shown = {each.submission.repository.track_id: each for each in _shown(found, entry, inside=inside)}
    choices = choices_of_team(entry) if inside and teams_choose else {}
    return [
        TrackStanding(track, rows.get(track.pk), shown.get(track.pk), choices.get(track.pk))
        for track in entry.competition.tracks.all()
    ]


@dataclass(frozen=True)
class SubmissionList:
    """A page of the submissions of a team, newest first."""

    page: Page[Submission]
    rows: Sequence[ShownSubmission]


def submission_list(
    entry: Entry, page: str | None, *, track_name: str = "", state: str = "", inside: bool
) -> SubmissionList:
    """Return a page of the submissions to a track and with a state of `STATES`; "" and unknown names select all."""
    submitted = _of(entry)
    if track_name in Track.Name.values:
        submitted = submitted.filter(repository__track__name=track_name)
    if state in STATES:
        submitted = submitted.filter(state__in=STATES[state][1])
    related = submitted.select_related("repository__track", "submitted_by").prefetch_related(
        with_entries(inside=inside)
    )
    chosen = Paginator(related, SUBMISSIONS_PER_PAGE).get_page(page)
    return SubmissionList(chosen, _shown(list(chosen.object_list), entry, inside=inside))


def _of(entry: Entry) -> QuerySet[Submission]:
    return Submission.objects.filter(repository__entry=entry)


def _shown(submissions: Sequence[Submission], entry: Entry, *, inside: bool) -> list[ShownSubmission]:
    evaluations = evaluations_of(submissions, entry.competition, inside=inside)
    found = [(each, evaluations.get(each.pk)) for each in submissions]
    return [ShownSubmission(each, evaluation, state_of(each, evaluation)) for each, evaluation in found]


@dataclass(frozen=True)
class SubmitPanel:
    """How a team submits to a track. `commits` are the newest of its repository.

    `next_tag` is a tag that does not exist, "" if the tags could not be read in time. `commits_in_time`: whether the
    commits could; otherwise they are empty.
    """

    track: Track
    commits: Sequence[CommitInfo]
    allowance: Allowance
    next_tag: str
    commits_in_time: bool = True

    @property
    def started(self) -> bool:
        """Whether the repository may have commits."""
        return bool(self.commits) or not self.commits_in_time


@dataclass(frozen=True)
class LateTag:
    """A tag that arrived too late to be a submission."""

    track: Track
    slot: QuotaSlot


def submit_panel(entry: Entry, track: Track) -> SubmitPanel:
    """Return how the team submits to a track."""
    repository = Repository.objects.filter(entry=entry, track=track).select_related("track").first()
    if repository is None:  # nothing was pushed
        return SubmitPanel(track, (), allowance((), track.quota, clock.now()), next_tag(()))
    recent = recent_of(repository, RECENT_COMMITS)
    known = recent.in_time or recent.refs
    tag = next_tag_of(repository, recent.refs) if known else ""
    return SubmitPanel(track, recent.commits, allowance_of(repository), tag, recent.in_time)


def late_tags(entry: Entry) -> list[LateTag]:
    """Return the tags of all repositories of the team that are no submission because they arrived too late."""
    repositories = entry.repositories.select_related("track").order_by("track")
    return [LateTag(repository.track, slot) for repository in repositories for slot in left_out(repository)]
