"""Read submissions, and what a team has left of its quota."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from django.db.models import Exists, F, OuterRef

from core import clock
from evaluation.domain.tags import next_tag
from repositories.models import Repository
from submissions.models import Build, Host, LogChunk, QuotaSlot, Submission
from submissions.quota_rules import WINDOW, Allowance, allowance

TOLD = timedelta(days=7)
"""For so long a team is told of a tag that did not become a submission."""

LOG_PAGE = 1000
"""How many lines of a log are read at once."""


@dataclass(frozen=True)
class NumberedLine:
    """A line of a build's log. Its number is for ever."""

    number: int
    stage: str
    text: str


@dataclass(frozen=True)
class LogPage:
    """Some lines of a log, in order. `last` is what to ask for next as `after`; `over`: no line will follow."""

    lines: tuple[NumberedLine, ...]
    last: int
    over: bool


def log_lines(build: Build, after: int = 0, limit: int = LOG_PAGE) -> LogPage:
    """The lines of a build's log with numbers above `after`, at most `limit` of them."""
    # asked before the lines: what is written in between is then read the next time
    finished = Build.objects.filter(pk=build.pk, finished_at__isnull=False).exists()
    found = tuple(islice(_lines_after(build, after), limit + 1))
    lines = found[:limit]
    return LogPage(lines, lines[-1].number if lines else after, over=finished and len(found) <= limit)


def whole_log(build: Build) -> Iterator[str]:
    """The whole log as text, piece by piece, for a download."""
    for text in build.log_chunks.values_list("text", flat=True).iterator(chunk_size=50):
        yield f"{text}\n"


def _lines_after(build: Build, after: int) -> Iterator[NumberedLine]:
    chunks = LogChunk.objects.filter(build=build).annotate(end=F("first_line") + F("lines")).filter(end__gt=after + 1)
    for chunk in chunks.order_by("first_line").iterator(chunk_size=50):
        for number, text in enumerate(chunk.text.split("\n"), chunk.first_line):
            if number > after:
                yield NumberedLine(number, chunk.stage, text)


def allowance_of(repository: Repository) -> Allowance:
    """What the team may still submit to the repository's track, now."""
    now = clock.database_now()
    taken = (
        QuotaSlot.objects.filter(repository=repository, reserved_at__gt=now - WINDOW)
        .exclude(state=QuotaSlot.State.REFUNDED)
        .values_list("reserved_at", flat=True)
    )
    return allowance(taken, repository.track.quota, now)


def standing_submission(repository: Repository, commit: str) -> Submission | None:
    """The submission of `commit` that is neither refused nor withdrawn; there is at most one."""
    gone = (Submission.State.REFUSED, Submission.State.WITHDRAWN)
    return Submission.objects.filter(repository=repository, commit=commit).exclude(state__in=gone).first()


def hosts_out_of_service() -> list[Host]:
    """The hosts that take no work because a check of them failed, by name."""
    return list(Host.objects.filter(out_since__isnull=False))


def left_out(repository: Repository) -> list[QuotaSlot]:
    """The slots of the last week whose tag is stored and is no submission, nor is another tag on its commit."""
    submitted = Submission.objects.filter(repository=repository, commit=OuterRef("commit"))
    slots = QuotaSlot.objects.filter(
        ~Exists(submitted), repository=repository, settled_at__gt=clock.database_now() - TOLD
    )
    return list(slots.exclude(problem="").order_by("pk"))


def next_tag_of(repository: Repository, refs: Iterable[str]) -> str:
    """A tag for the next submission: no ref of `refs`, all that the repository holds, and no slot has that name."""
    tags = {ref.removeprefix("refs/tags/") for ref in refs}
    return next_tag(tags.union(QuotaSlot.objects.filter(repository=repository).values_list("tag", flat=True)))
