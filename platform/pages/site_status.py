"""What the status page says in plain words: incidents and the newest score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Max
from django.utils.translation import gettext, ngettext

from core import clock
from leaderboards.evaluation_basis import COUNTED
from leaderboards.models import Evaluation
from matches.models import Match, Piece
from matches.selectors import OPEN_PIECES, WorkerStatus, stuck_pieces, workers
from pages import platform_errors
from submissions.models import Submission
from tournaments.models import Entrant
from tournaments.selectors import KINDS, RunQueue, held_by_workers, stuck_runs
from workers.models import Worker
from workers.selectors import workers_without_heartbeat

LONGEST_BUILD = timedelta(hours=24)
"""A submission that is neither ready nor rejected for this long is an incident."""


@dataclass(frozen=True)
class Incident:
    """Something that delays results. It names no team, player or host."""

    title: str
    text: str
    grave: bool = False


@dataclass(frozen=True)
class WorkerLine:
    """A worker, and the number of pieces and runs that it holds."""

    of: WorkerStatus
    held: int


def worker_lines() -> list[WorkerLine]:
    """Return every worker that ever played, by name."""
    runs = held_by_workers()
    return [WorkerLine(each, len(each.holds) + runs[each.worker.name]) for each in workers()]


def incidents(lines: Sequence[WorkerLine], runs: RunQueue) -> list[Incident]:
    """Return what delays results now, the worst first."""
    live = {line.of.worker.worker_class for line in lines if line.of.live and not line.of.out_of_service}
    waiting = Piece.objects.filter(OPEN_PIECES)
    found = []
    if not live:
        text = _waiting(waiting.count(), runs.waiting + runs.claimed)
        found.append(
            Incident(
                gettext("No worker is online"),
                f"{text or gettext('New submissions wait.')} "
                + gettext("Everything continues when a worker is online again. No result is lost."),
                grave=bool(text),
            )
        )
    elif Worker.Class.GPU not in live and (count := waiting.filter(match__needs_gpu=True).count()):
        found.append(
            Incident(
                gettext("No worker with a GPU is online"),
                ngettext(
                    "%(count)s piece waits that need one. The others are played.",
                    "%(count)s pieces wait that need one. The others are played.",
                    count,
                )
                % {"count": intcomma(count)},
            )
        )
    late = Submission.objects.filter(state__in=Submission.UNDER_WAY, received_at__lt=clock.now() - LONGEST_BUILD)
    if count := late.count():
        found.append(
            Incident(
                gettext("Builds are late"),
                ngettext(
                    "%(count)s submission waits for more than a day to be built and checked. They stay in the queue.",
                    "%(count)s submissions wait for more than a day to be built and checked. They stay in the queue.",
                    count,
                )
                % {"count": intcomma(count)},
            )
        )
    found += _failures()
    suspended = Match.objects.filter(
        state=Match.State.SUSPENDED, evaluations__in=platform_errors.playing_evaluations()
    ).distinct()
    if count := suspended.count():
        found.append(
            Incident(
                gettext("Some matches are suspended"),
                ngettext(
                    "An organiser suspended %(count)s match. The scores that need it are late until it is resumed.",
                    "An organiser suspended %(count)s matches. The scores that need them are late until they are "
                    "resumed.",
                    count,
                )
                % {"count": intcomma(count)},
            )
        )
    if live and (count := workers_without_heartbeat()):
        found.append(
            Incident(
                ngettext("%(count)s worker has stopped reporting", "%(count)s workers have stopped reporting", count)
                % {"count": count},
                gettext("Other workers play their pieces again. No result is lost."),
            )
        )
    return found


def _failures() -> list[Incident]:
    """Return what platform errors ended, and what they hold up."""
    found = []
    if count := platform_errors.failed_matches().count():
        found.append(
            Incident(
                gettext("Some matches failed"),
                ngettext(
                    "Platform errors ended %(count)s match. The scores that need them are late until an organiser "
                    "replays them. No team loses a slot.",
                    "Platform errors ended %(count)s matches. The scores that need them are late until an organiser "
                    "replays them. No team loses a slot.",
                    count,
                )
                % {"count": intcomma(count)},
            )
        )
    if count := sum(platform_errors.failed_runs(kind).count() for kind in KINDS):
        found.append(
            Incident(
                gettext("Some runs failed"),
                ngettext(
                    "Platform errors ended %(count)s run. The scores that need it are late until an organiser replays "
                    "it. No team loses a slot.",
                    "Platform errors ended %(count)s runs. The scores that need them are late until an organiser "
                    "replays them. No team loses a slot.",
                    count,
                )
                % {"count": intcomma(count)},
            )
        )
    if count := platform_errors.void_evaluations().count():
        found.append(
            Incident(
                gettext("Some submissions have no score"),
                ngettext(
                    "Platform errors ended %(count)s evaluation. It is repeated once, after an hour, or by an "
                    "organiser. No team loses a slot.",
                    "Platform errors ended %(count)s evaluations. They are repeated once, after an hour, or by an "
                    "organiser. No team loses a slot.",
                    count,
                )
                % {"count": intcomma(count)},
            )
        )
    if count := platform_errors.failed_submissions().count():
        found.append(
            Incident(
                gettext("Some submissions could not be built or checked"),
                ngettext(
                    "Platform errors ended %(count)s submission. An organiser can retry it.",
                    "Platform errors ended %(count)s submissions. An organiser can retry them.",
                    count,
                )
                % {"count": intcomma(count)},
            )
        )
    if count := platform_errors.slots_to_refund().count():
        found.append(
            Incident(
                gettext("Some slots wait for a refund"),
                ngettext(
                    "Platform errors used %(count)s slot. An organiser decides on its refund.",
                    "Platform errors used %(count)s slots. An organiser decides on their refund.",
                    count,
                )
                % {"count": intcomma(count)},
            )
        )
    if count := stuck_pieces().count() + sum(stuck_runs(kind).count() for kind in KINDS):
        found.append(
            Incident(
                gettext("Some work waits after platform errors"),
                ngettext(
                    "%(count)s piece or run failed several times, on one host or because of hosts. It is tried again, "
                    "less and less often. No result is lost.",
                    "%(count)s pieces and runs failed several times, on one host or because of hosts. They are tried "
                    "again, less and less often. No result is lost.",
                    count,
                )
                % {"count": intcomma(count)},
            )
        )
    return found


def _waiting(pieces: int, runs: int) -> str:
    """Return a sentence for each kind of work that waits, "" without any."""
    sentences = [
        ngettext("%(count)s piece waits in the queue.", "%(count)s pieces wait in the queue.", pieces)
        % {"count": intcomma(pieces)}
        if pieces
        else "",
        ngettext("%(count)s run waits in the queue.", "%(count)s runs wait in the queue.", runs)
        % {"count": intcomma(runs)}
        if runs
        else "",
    ]
    return " ".join(filter(None, sentences))


def last_score_at() -> datetime | None:
    """Return when the newest score was computed."""
    scored = Evaluation.objects.filter(COUNTED, state=Evaluation.State.SCORED)
    entered = Entrant.objects.filter(tournament__fixed=False)
    newest = scored.aggregate(at=Max("finished_at"))["at"], entered.aggregate(at=Max("entered_at"))["at"]
    return max((at for at in newest if at), default=None)
