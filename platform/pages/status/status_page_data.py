"""What the status page says in plain words: incidents, workers and the newest score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, Min, QuerySet

from competitions.models import Competition
from core import clock
from pages.formats import PageFormat, WorkQueue, formats_named
from pages.status import failed_submissions
from pages.status.incident_types import Incident, Urgency
from submissions import quota_ledger
from submissions.models import Submission
from workers.models import Worker
from workers.selectors import (
    HEARTBEAT_TIMEOUT,
    MAX_SKEW,
    hosts_out_of_service,
    recent_workers,
    workers_without_heartbeat,
)
from workers.worker_name import host_of

LONGEST_BUILD = timedelta(hours=24)
"""A submission that is neither ready nor rejected for this long is an incident."""


@dataclass(frozen=True)
class WorkerLine:
    """A worker, whether it is live, the state of its host, and how much work it holds."""

    worker: Worker
    live: bool
    out_of_service: bool
    held: int

    @property
    def clock_is_off(self) -> bool:
        """True if the clock of its host differs more from the database's than with a working NTP service."""
        return self.live and abs(self.worker.clock_skew) > MAX_SKEW


@dataclass(frozen=True)
class Builds:
    """Submissions that are not built and checked: how many, and since when the oldest waits."""

    count: int
    oldest_since: datetime | None


def formats_played() -> list[PageFormat]:
    """Return the formats of the competitions of the site; the first one if there is no competition."""
    return formats_named(set(Competition.objects.order_by().values_list("format", flat=True).distinct()))


def worker_lines(formats: Collection[PageFormat]) -> list[WorkerLine]:
    """Return the workers that play, and those that were lost lately, by name."""
    held: Counter[str] = sum((Counter(each.held_by_workers()) for each in formats), Counter())
    since = clock.database_now() - HEARTBEAT_TIMEOUT
    out = {host.name for host in hosts_out_of_service()}
    return [
        WorkerLine(
            worker=each,
            live=each.last_seen_at >= since,
            out_of_service=host_of(each.name) in out,
            held=held[each.name],
        )
        for each in recent_workers()
    ]


def builds() -> Builds:
    """Return the submissions that are not built and checked."""
    waiting = _under_way()
    found = waiting.aggregate(all=Count("pk"), since=Min("received_at"))
    return Builds(found["all"], found["since"])


def incidents(
    formats: Collection[PageFormat], lines: Sequence[WorkerLine], queues: Sequence[WorkQueue]
) -> list[Incident]:
    """Return what delays results now, the worst first."""
    live = {line.worker.worker_class for line in lines if line.live and not line.out_of_service}
    found = [*_builds(), *_failures()]
    if not live:
        text = " ".join(queue.words for queue in queues if queue.waiting or queue.claimed)
        found.append(
            Incident(
                Urgency.STOPPED,
                "No worker is online",
                f"{text or 'New submissions wait.'} "
                + "Everything continues when a worker is online again. No result is lost.",
                grave=bool(text),
            )
        )
    for each in formats:
        found += each.incidents(live)
    if count := sum(each.stuck_work() for each in formats):
        found.append(
            Incident(
                Urgency.RETRIED,
                "Some work waits after platform errors",
                (
                    (
                        f"{intcomma(count)} piece or run failed several times, on one host or because of hosts. "
                        "It is tried again, less and less often. No result is lost."
                    )
                    if count == 1
                    else (
                        f"{intcomma(count)} pieces and runs failed several times, on one host or because of "
                        "hosts. They are tried again, less and less often. No result is lost."
                    )
                ),
            )
        )
    if live and (count := workers_without_heartbeat()):
        found.append(
            Incident(
                Urgency.SILENT,
                (f"{count} worker has stopped reporting" if count == 1 else f"{count} workers have stopped reporting"),
                "Other workers play their pieces again. No result is lost.",
            )
        )
    return sorted(found, key=lambda each: each.urgency)


def late_submissions() -> QuerySet[Submission]:
    """Return the submissions that have been neither ready nor rejected for too long."""
    return _under_way().filter(received_at__lt=clock.now() - LONGEST_BUILD)


def _under_way() -> QuerySet[Submission]:
    """Return the submissions that workers build, or are to build: those of archived competitions wait for nobody."""
    return Submission.objects.filter(state__in=Submission.UNDER_WAY, repository__track__competition__archived_at=None)


def _builds() -> list[Incident]:
    count = late_submissions().count()
    if not count:
        return []
    return [
        Incident(
            Urgency.LATE,
            "Builds are late",
            (
                (
                    f"{intcomma(count)} submission waits for more than a day to be built and checked. They "
                    "stay in the queue."
                )
                if count == 1
                else (
                    f"{intcomma(count)} submissions wait for more than a day to be built and checked. They "
                    "stay in the queue."
                )
            ),
        )
    ]


def _failures() -> list[Incident]:
    """Return the submissions that platform errors ended, and the slots that they used."""
    found = []
    if count := failed_submissions.failed_submissions().count():
        found.append(
            Incident(
                Urgency.REJECTED,
                "Some submissions could not be built or checked",
                (
                    f"Platform errors ended {intcomma(count)} submission. An organiser can retry it."
                    if count == 1
                    else f"Platform errors ended {intcomma(count)} submissions. An organiser can retry them."
                ),
            )
        )
    if count := quota_ledger.awaiting_organiser().count():
        found.append(
            Incident(
                Urgency.REFUND,
                "Some slots wait for a refund",
                (
                    f"Platform errors used {intcomma(count)} slot. An organiser decides on its refund."
                    if count == 1
                    else f"Platform errors used {intcomma(count)} slots. An organiser decides on their refund."
                ),
            )
        )
    return found


def last_score_at(formats: Collection[PageFormat]) -> datetime | None:
    """Return when the newest score was computed."""
    newest = (each.last_score_at() for each in formats)
    return max((at for at in newest if at), default=None)
