"""The queue of pieces, and what platform errors hold up: matches, evaluations and pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import datetime

from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.cache import cache
from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils.translation import gettext, ngettext

from formats.query.leaderboards.evaluation_basis import COUNTED, unresolved
from formats.query.leaderboards.models import Evaluation
from formats.query.matches.models import Match, Piece
from formats.query.matches.selectors import OPEN_PIECES, stuck_pieces
from pages.formats import WorkQueue
from pages.status.incidents import REPLAY, RETRY, Incident, RowsToFix, Urgency
from rounds.models import Round
from workers.models import Worker

CACHED_SECONDS = 30
"""How long the evaluations without a score are cached: finding them reads every track, and the page is polled."""

_NOT_ENDED = (Round.State.PLANNED, *Round.UNDER_WAY)


def queue() -> WorkQueue:
    """Return the pieces that are not played."""
    found = Piece.objects.filter(OPEN_PIECES).aggregate(
        all=Count("pk"),
        claimed=Count("pk", filter=Q(state=Piece.State.CLAIMED)),
        since=Min("match__created_at", filter=Q(state=Piece.State.WAITING)),
    )
    return WorkQueue(
        title=gettext("Pieces waiting"),
        claimed_title=gettext("Pieces being played"),
        waiting=found["all"] - found["claimed"],
        claimed=found["claimed"],
        oldest_since=found["since"],
        words=ngettext("%(count)s piece waits in the queue.", "%(count)s pieces wait in the queue.", found["all"])
        % {"count": intcomma(found["all"])},
    )


def held_by_workers() -> Counter[str]:
    """Return the number of pieces that each worker holds, by its name."""
    held = Piece.objects.filter(state=Piece.State.CLAIMED, worker__isnull=False)
    return Counter(held.order_by().values_list("worker__name", flat=True))


def last_score_at() -> datetime | None:
    """Return when the newest evaluation was scored."""
    scored = Evaluation.objects.filter(COUNTED, state=Evaluation.State.SCORED)
    newest: datetime | None = scored.aggregate(at=Max("finished_at"))["at"]
    return newest


def incidents(live: Collection[str]) -> list[Incident]:
    """Return what delays results; `live` are the classes of the workers that play now."""
    found = []
    needs_gpu = Piece.objects.filter(OPEN_PIECES, match__needs_gpu=True)
    if live and Worker.Class.GPU not in live and (count := needs_gpu.count()):
        found.append(
            Incident(
                Urgency.PARTLY_STOPPED,
                gettext("No worker with a GPU is online"),
                ngettext(
                    "%(count)s piece waits that need one. The others are played.",
                    "%(count)s pieces wait that need one. The others are played.",
                    count,
                )
                % {"count": intcomma(count)},
            )
        )
    if count := _failed_matches().count():
        found.append(
            Incident(
                Urgency.FAILED,
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
    if count := _void_evaluations().count():
        found.append(
            Incident(
                Urgency.UNSCORED,
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
    suspended = Match.objects.filter(state=Match.State.SUSPENDED, evaluations__in=_playing_evaluations()).distinct()
    if count := suspended.count():
        found.append(
            Incident(
                Urgency.SUSPENDED,
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
    return found


def rows_to_fix() -> list[RowsToFix]:
    """Return the matches, evaluations and pieces that need a person."""
    return [
        RowsToFix(Urgency.FAILED, "Failed matches", _failed_matches(), REPLAY),
        RowsToFix(
            Urgency.UNSCORED,
            "Evaluations without a score",
            _void_evaluations(),
            "Platform errors ended them. The site repeats each one once, after an hour; otherwise choose Re-evaluate.",
        ),
        RowsToFix(Urgency.WAITS, "Pieces that wait after faults", stuck_pieces(), RETRY),
    ]


def _playing_evaluations() -> QuerySet[Evaluation]:
    """Return the evaluations whose matches are played."""
    return Evaluation.objects.filter(COUNTED, state=Evaluation.State.PLAYING)


def _void_evaluations() -> QuerySet[Evaluation]:
    """Return the evaluations that platform errors ended and whose submissions have no score since then."""
    keys = cache.get_or_set("void-evaluations", _unresolved_keys, CACHED_SECONDS)
    return Evaluation.objects.filter(pk__in=keys or (), state=Evaluation.State.VOID)


def _failed_matches() -> QuerySet[Match]:
    """Return the failed matches that an evaluation without a score, or a round that has not ended, needs."""
    needed = Q(evaluations__in=_playing_evaluations()) | Q(evaluations__in=_void_evaluations())
    in_round = Q(round_match__round__state__in=_NOT_ENDED)
    return Match.objects.filter(needed | in_round, state=Match.State.FAILED).distinct()


def _unresolved_keys() -> list[int]:
    return list(unresolved().values_list("pk", flat=True))
