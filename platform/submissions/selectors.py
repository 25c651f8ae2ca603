"""Queries on submissions, their logs and their tags."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from django.db.models import Count, Exists, F, OuterRef, QuerySet

from competitions.models import Entry
from core import clock
from core.event_log import name_of
from core.models import Event
from evaluation.domain.submission_tags import next_tag
from repositories.models import Repository
from submissions.models import Build, LogChunk, QuotaSlot, Submission

LATE_TAG_SHOWN = timedelta(days=7)
"""How long a team sees a tag that did not become a submission."""

BUILD_ERROR = "build_error"
"""Verb of the event with the traceback of a platform error; the event `fault` after it says whether it counts."""

LOG_PAGE = 1000
"""Number of lines of a log that are read per call."""


@dataclass(frozen=True)
class NumberedLine:
    """A line of a build's log. Its number never changes."""

    number: int
    stage: str
    text: str


@dataclass(frozen=True)
class LogPage:
    """Some lines of a log, in order. `last` is the next call's `after`; `over`: no line will follow."""

    lines: tuple[NumberedLine, ...]
    last: int
    over: bool


def ready_submissions() -> QuerySet[Submission]:
    """Return the submissions that may count: ready, not disqualified, and no baselines."""
    return Submission.objects.filter(state=Submission.State.READY, disqualified_at=None, baseline_at=None)


def newer_ready(submission: Submission) -> QuerySet[Submission]:
    """Return the newer submissions of its team and track that may count in its place."""
    return ready_submissions().filter(repository=submission.repository_id, pk__gt=submission.pk)


def submitted_baselines() -> QuerySet[Submission]:
    """Return the submissions that organisers made baselines, without withdrawn and disqualified ones."""
    ready = Submission.objects.filter(state=Submission.State.READY, disqualified_at=None)
    return ready.filter(baseline_at__isnull=False)


def submissions_of_players(players: Collection[int], first: int | None) -> list[int]:
    """Return the submissions that became these players: those of the entry `first`, then the others, newest first."""
    found = Submission.objects.filter(player__in=players).order_by("-pk").values_list("pk", "repository__entry")
    return [key for key, _ in sorted(found, key=lambda row: row[1] != first)]


def tracks_with_baselines(entry: Entry) -> set[int]:
    """Return the keys of the tracks on which organisers made a submission of a team a baseline."""
    baselines = submitted_baselines().filter(repository__entry=entry)
    return set(baselines.order_by().values_list("repository__track", flat=True))


def tried_by_track(entry: Entry) -> dict[int, int]:
    """Return how many submissions of a team were built and could be scored, by the key of the track.

    Withdrawn ones were tried, too.
    """
    states = (Submission.State.READY, Submission.State.WITHDRAWN)
    tried = Submission.objects.filter(repository__entry=entry, state__in=states, player__isnull=False)
    return dict(tried.order_by().values_list("repository__track").annotate(count=Count("pk")))


def log_lines(build: Build, after: int = 0, limit: int = LOG_PAGE) -> LogPage:
    """Return the lines of a build's log with numbers above `after`, at most `limit`."""
    # read before the lines: what is written in between is read by the next call
    finished = Build.objects.filter(pk=build.pk, finished_at__isnull=False).exists()
    found = tuple(islice(_lines_after(build, after), limit + 1))
    lines = found[:limit]
    return LogPage(lines, lines[-1].number if lines else after, over=finished and len(found) <= limit)


def whole_log(build: Build) -> Iterator[str]:
    """Yield the whole log as text, in pieces, for a download."""
    for text in build.log_chunks.values_list("text", flat=True).iterator(chunk_size=50):
        yield f"{text}\n"


def _lines_after(build: Build, after: int) -> Iterator[NumberedLine]:
    chunks = LogChunk.objects.filter(build=build).annotate(end=F("first_line") + F("lines")).filter(end__gt=after + 1)
    for chunk in chunks.order_by("first_line").iterator(chunk_size=50):
        for number, text in enumerate(chunk.text.split("\n"), chunk.first_line):
            if number > after:
                yield NumberedLine(number, chunk.stage, text)


def left_out(repository: Repository) -> list[QuotaSlot]:
    """Return the slots of the last week whose stored tag is no submission, and whose commit is none either."""
    submitted = Submission.objects.filter(repository=repository, commit=OuterRef("commit"))
    slots = QuotaSlot.objects.filter(
        ~Exists(submitted), repository=repository, settled_at__gt=clock.database_now() - LATE_TAG_SHOWN
    )
    return list(slots.exclude(problem="").order_by("pk"))


def next_tag_of(repository: Repository, refs: Iterable[str]) -> str:
    """Return a tag for the next submission, which neither `refs` (the repository's), a submission nor a slot has."""
    tags = {ref.removeprefix("refs/tags/") for ref in refs}
    for rows in (QuotaSlot, Submission):
        tags.update(rows.objects.filter(repository=repository).values_list("tag", flat=True))
    return next_tag(tags)


def faults_of(submission: Submission) -> Sequence[Event]:
    """Return the platform errors of a submission's builds, oldest first: `data` has the attempt and the detail."""
    return list(Event.objects.filter(verb="fault", subject=name_of(submission)).order_by("pk"))


def tracebacks_of(submission: Submission) -> dict[int, str]:
    """Return the traceback of the platform error of each attempt that has one."""
    events = Event.objects.filter(verb=BUILD_ERROR, subject=name_of(submission)).order_by("pk")
    return {event.data["attempt"]: event.data["traceback"] for event in events}
