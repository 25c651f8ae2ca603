"""The queue of pieces, and what platform errors hold up: matches, evaluations and pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from itertools import chain

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, Max, Min, Q, QuerySet

from core import clock, optional_cache
from formats.query.challenges.models import Challenge
from formats.query.challenges.selectors import stuck_challenges
from formats.query.leaderboards.evaluation_basis import COUNTED, unresolved
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.replaced_matches import evaluations_using
from formats.query.matches.models import Match, Piece
from formats.query.matches.repeated_pieces import doubtful_pieces
from formats.query.matches.selectors import ARCHIVED, OPEN_PIECES, stuck_pieces
from pages.formats import WorkQueue
from pages.status.incident_types import REPLAY, RETRY, Incident, RowsToFix, Urgency
from rounds.models import Round
from workers.models import Worker

CACHED_SECONDS = 30
"""How long the evaluations without a score are cached: finding them reads every track, and the page is polled."""

_NOT_ENDED = (Round.State.PLANNED, *Round.UNDER_WAY)


def queue() -> WorkQueue:
    """Return the pieces that are not played, except those of archived competitions."""
    found = Piece.objects.filter(OPEN_PIECES, ~ARCHIVED).aggregate(
        all=Count("pk"),
        claimed=Count("pk", filter=Q(state=Piece.State.CLAIMED)),
        since=Min("queued_at", filter=Q(state=Piece.State.WAITING)),
    )
    since: datetime | None = found["since"]
    return WorkQueue(
        title="Pieces",
        noun="piece",
        waiting=found["all"] - found["claimed"],
        claimed=found["claimed"],
        # what is to come after later requests has a place in the future
        oldest_since=None if since is None else min(since, clock.now()),
    )


def held_by_workers() -> Counter[str]:
    """Return the number of pieces and challenges that each worker holds, by its name."""
    held = Piece.objects.filter(state=Piece.State.CLAIMED, worker__isnull=False)
    challenged = Challenge.objects.filter(state=Challenge.State.CLAIMED)
    names = (held.order_by().values_list("worker__name", flat=True), challenged.values_list("worker", flat=True))
    return Counter(chain(*names))


def last_score_at() -> datetime | None:
    """Return when the newest evaluation was scored."""
    scored = Evaluation.objects.filter(COUNTED, state=Evaluation.State.SCORED)
    newest: datetime | None = scored.aggregate(at=Max("finished_at"))["at"]
    return newest


def incidents(live: Collection[str]) -> list[Incident]:
    """Return what delays results; `live` are the classes of the workers that play now."""
    found = []
    needs_gpu = Piece.objects.filter(OPEN_PIECES, ~ARCHIVED, match__needs_gpu=True)
    if live and Worker.Class.GPU not in live and (count := needs_gpu.count()):
        found.append(
            Incident(
                Urgency.PARTLY_STOPPED,
                "No worker with a GPU is online",
                (
                    f"{intcomma(count)} piece waits that need one. The others are played."
                    if count == 1
                    else f"{intcomma(count)} pieces wait that need one. The others are played."
                ),
            )
        )
    if count := _failed_matches().count():
        found.append(
            Incident(
                Urgency.FAILED,
                "Some matches failed",
                (
                    (
                        f"Platform errors ended {intcomma(count)} match. The scores that need it are late until "
                        "an organiser replays it. No team loses a slot."
                    )
                    if count == 1
                    else (
                        f"Platform errors ended {intcomma(count)} matches. The scores that need them are late "
                        "until an organiser replays them. No team loses a slot."
                    )
                ),
            )
        )
    if count := _void_evaluations().count():
        found.append(
            Incident(
                Urgency.UNSCORED,
                "Some submissions have no score",
                (
                    f"Platform errors ended {intcomma(count)} evaluation. It is repeated once, after an hour, or by an "
                    "organiser. No team loses a slot."
                    if count == 1
                    else (
                        f"Platform errors ended {intcomma(count)} evaluations. They are repeated once, after an "
                        "hour, or by an organiser. No team loses a slot."
                    )
                ),
            )
        )
    suspended = Match.objects.filter(state=Match.State.SUSPENDED, evaluations__in=_playing_evaluations()).distinct()
    if count := suspended.count():
        found.append(
            Incident(
                Urgency.SUSPENDED,
                "Some matches are suspended",
                (
                    (
                        f"An organiser suspended {intcomma(count)} match. The scores that need it are late until "
                        "it is resumed."
                    )
                    if count == 1
                    else (
                        f"An organiser suspended {intcomma(count)} matches. The scores that need them are late "
                        "until they are resumed."
                    )
                ),
            )
        )
    return found


def rows_to_fix() -> list[RowsToFix]:
    """Return the matches, evaluations, pieces and challenges that need a person."""
    return [
        RowsToFix(Urgency.FAILED, "Failed matches", _failed_matches(), REPLAY),
        RowsToFix(
            Urgency.UNSCORED,
            "Evaluations without a score",
            _void_evaluations(),
            "Platform errors ended them. The site repeats each one once, after an hour; otherwise choose Re-evaluate.",
        ),
        RowsToFix(Urgency.WAITS, "Pieces that wait after faults", stuck_pieces(), RETRY),
        RowsToFix(Urgency.WAITS, "Challenges that wait after faults", stuck_challenges(), RETRY),
        *_of_drained_hosts(),
    ]


def _of_drained_hosts() -> list[RowsToFix]:
    """Return the scores in force that use pieces of drained hosts, and those of these pieces that count."""
    pieces = doubtful_pieces()
    matches = set(pieces.order_by().values_list("match", flat=True))
    if not matches:  # the usual case
        return []
    evaluations = evaluations_using(matches)
    scored = Match.objects.filter(pk__in=matches, evaluations__in=evaluations)
    in_round = Match.objects.filter(pk__in=matches, round_match__round__state__in=_NOT_ENDED)
    counting = {*scored.values_list("pk", flat=True), *in_round.values_list("pk", flat=True)}
    return [
        RowsToFix(
            Urgency.UNSCORED,
            "Evaluations with pieces of drained hosts",
            evaluations,
            "The results of a host differed from those of others. Select them and choose Rejudge.",
        ),
        RowsToFix(
            Urgency.UNSCORED,
            "Pieces of drained hosts that count",
            pieces.filter(match__in=counting),
            "They stay here until their evaluations are rejudged and published, and their rounds have ended.",
        ),
    ]


def _playing_evaluations() -> QuerySet[Evaluation]:
    """Return the evaluations whose matches are played."""
    return Evaluation.objects.filter(COUNTED, state=Evaluation.State.PLAYING)


def _void_evaluations() -> QuerySet[Evaluation]:
    """Return the evaluations that platform errors ended and whose submissions have no score since then."""
    keys = optional_cache.get("void-evaluations")
    if keys is None:
        keys = list(unresolved().values_list("pk", flat=True))
        optional_cache.put("void-evaluations", keys, CACHED_SECONDS)
    return Evaluation.objects.filter(pk__in=keys, state=Evaluation.State.VOID)


def _failed_matches() -> QuerySet[Match]:
    """Return the failed matches that an evaluation without a score, or a round that has not ended, needs."""
    needed = Q(evaluations__in=_playing_evaluations()) | Q(evaluations__in=_void_evaluations())
    in_round = Q(round_match__round__state__in=_NOT_ENDED)
    return Match.objects.filter(needed | in_round, state=Match.State.FAILED).distinct()
