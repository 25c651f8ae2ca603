"""What the status page says in plain words: incidents and the newest score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Max, QuerySet
from django.utils.translation import gettext, ngettext

from core import clock
from leaderboards.evaluation_basis import COUNTED
from leaderboards.models import Evaluation
from matches.models import Match, Piece, Worker
from matches.selectors import OPEN_PIECES, WorkerStatus, workers_without_heartbeat
from submissions.models import Submission

LONGEST_BUILD = timedelta(hours=24)
"""A submission that is neither ready nor rejected for this long is an incident."""


@dataclass(frozen=True)
class Incident:
    """Something that delays results. It names no team, player or host."""

    title: str
    text: str
    grave: bool = False


def incidents(workers: Sequence[WorkerStatus]) -> list[Incident]:
    """Return what delays results now, the worst first."""
    live = {each.worker.worker_class for each in workers if each.live and not each.out_of_service}
    waiting = Piece.objects.filter(OPEN_PIECES)
    found = []
    if not live:
        count = waiting.count()
        text = (
            ngettext("%(count)s piece waits in the queue.", "%(count)s pieces wait in the queue.", count)
            % {"count": intcomma(count)}
            if count
            else gettext("New matches wait.")
        )
        found.append(
            Incident(
                gettext("No worker is online"),
                f"{text} {gettext('Matches continue when a worker is online again. No result is lost.')}",
                grave=count > 0,
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
    if count := Match.objects.filter(state=Match.State.FAILED, evaluations__in=_playing()).distinct().count():
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
    if count := Match.objects.filter(state=Match.State.SUSPENDED, evaluations__in=_playing()).distinct().count():
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


def _playing() -> QuerySet[Evaluation]:
    return Evaluation.objects.filter(COUNTED, state=Evaluation.State.PLAYING)


def last_score_at() -> datetime | None:
    """Return when the newest score was computed."""
    scored = Evaluation.objects.filter(COUNTED, state=Evaluation.State.SCORED)
    newest: datetime | None = scored.aggregate(at=Max("finished_at"))["at"]
    return newest
