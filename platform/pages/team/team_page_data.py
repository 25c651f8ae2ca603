"""Data of the page of a team: standings, submissions with their scores, and how to submit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.core.paginator import Page, Paginator
from django.db.models import Max, TextChoices
from django.http import HttpRequest

from competitions.models import Entry, Track
from evaluation.domain.submission_tags import next_tag
from pages.formats import StandingContent, SubmissionInList, TeamContent, page_formats
from pages.round.visible_entries import with_entries
from repositories.git_reader import CommitInfo
from repositories.models import Repository
from repositories.recent_commits import recent_of
from submissions.models import QuotaSlot, Submission
from submissions.quota import Allowance, allowance_for, allowance_of
from submissions.selectors import left_out, next_tag_of

SUBMISSIONS_PER_PAGE = 50
RECENT_COMMITS = 5

STATES: Mapping[str, tuple[str, Sequence[Submission.State]]] = {
    "under-way": ("Being built", Submission.UNDER_WAY),
    "ready": ("Ready", (Submission.State.READY,)),
    "rejected": ("Rejected", (Submission.State.REJECTED,)),
    "withdrawn": ("Withdrawn", (Submission.State.WITHDRAWN,)),
}
"""Filters of a list of submissions by name: a title, and the states that pass."""


@dataclass(frozen=True)
class ShownSubmission:
    """A submission in a list, with the state and the score that the user may see."""

    submission: Submission
    shown: SubmissionInList

    @property
    def state(self) -> TextChoices:
        """The state to show."""
        return self.shown.state


@dataclass(frozen=True)
class TrackStanding:
    """A team on a track. `newest` is its newest submission, None before the first one."""

    track: Track
    content: StandingContent
    newest: ShownSubmission | None

    @property
    def waits(self) -> bool:
        """Whether the state of the newest submission is to be shown, too."""
        return self.newest is not None and self.newest.submission.pk != self.content.submission


@dataclass(frozen=True)
class SubmissionList:
    """A page of the submissions of a team, newest first."""

    page: Page[Submission]
    rows: Sequence[ShownSubmission]


@dataclass(frozen=True)
class TeamPage:
    """Standings and submissions of a team, with what its format shows besides."""

    content: TeamContent
    standings: Sequence[TrackStanding]
    submissions: SubmissionList


def team_page(
    request: HttpRequest,
    entry: Entry,
    page: str | None,
    *,
    track_name: str = "",
    state: str = "",
    inside: bool,
    scores: bool,
) -> TeamPage:
    """Return the standings of a team, and a page of its submissions to a track and with a state of `STATES`.

    "" and unknown names select all. `scores`: with those that are not public.
    """
    submitted = Submission.objects.filter(repository__entry=entry)
    newest_keys = submitted.order_by().values("repository").annotate(newest=Max("pk")).values("newest")
    newest = list(submitted.filter(pk__in=newest_keys).select_related("repository"))
    tracks = list(entry.competition.tracks.all())
    if track_name in {track.name for track in tracks}:
        submitted = submitted.filter(repository__track__name=track_name)
    if state in STATES:
        submitted = submitted.filter(state__in=STATES[state][1])
    related = submitted.select_related("repository__track", "submitted_by").prefetch_related(
        with_entries(inside=inside)
    )
    chosen = Paginator(related, SUBMISSIONS_PER_PAGE).get_page(page)
    listed = list(chosen.object_list)
    content = page_formats.of(entry.competition).team(request, entry, {*newest, *listed}, inside=scores)
    of_track = {each.repository.track_id: ShownSubmission(each, content.submissions[each.pk]) for each in newest}
    return TeamPage(
        content,
        [TrackStanding(track, content.standings[track.pk], of_track.get(track.pk)) for track in tracks],
        SubmissionList(chosen, [ShownSubmission(each, content.submissions[each.pk]) for each in listed]),
    )


@dataclass(frozen=True)
class SubmitPanel:
    """How a team submits to a track. `commits` are the newest of its repository.

    `next_tag` is a tag that does not exist, "" if the tags could not be read in time. `commits_in_time`: whether the
    commits could; otherwise they are empty. `submitted` has the tags of the commits that are submissions already.
    """

    track: Track
    commits: Sequence[CommitInfo]
    allowance: Allowance
    next_tag: str
    commits_in_time: bool = True
    submitted: Mapping[str, str] = field(default_factory=dict)

    @property
    def proposed(self) -> str:
        """The newest commit that is no submission yet, "" if there is none."""
        return next((each.sha for each in self.commits if each.sha not in self.submitted), "")

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
        return SubmitPanel(track, (), allowance_for(entry, track), next_tag(()))
    recent = recent_of(repository, RECENT_COMMITS)
    known = recent.in_time or recent.refs
    tag = next_tag_of(repository, recent.refs) if known else ""
    shown = repository.submissions.filter(commit__in=[each.sha for each in recent.commits])
    sent = shown.exclude(state__in=(Submission.State.REJECTED, Submission.State.WITHDRAWN))
    submitted = dict(sent.order_by("pk").values_list("commit", "tag"))
    return SubmitPanel(track, recent.commits, allowance_of(repository), tag, recent.in_time, submitted)


def late_tags(entry: Entry) -> list[LateTag]:
    """Return the tags of all repositories of the team that are no submission because they arrived too late."""
    repositories = entry.repositories.select_related("track").order_by("track")
    return [LateTag(repository.track, slot) for repository in repositories for slot in left_out(repository)]
