"""The matches that published rejudgings replaced, and the evaluations that used them.

A pair of players may have several matches under the same rules on the same samples: the first, and one per rejudging.
Of the published ones, the newest counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from competitions.models import Competition
from formats.query.leaderboards.evaluation_basis import COUNTED, NEWEST
from formats.query.leaderboards.models import Evaluation, Rejudging
from formats.query.matches.models import Match
from submissions.models import Submission

_PAIR = ("rules", "sample_set", "model", "attack")

_Pair: TypeAlias = tuple[int, ...]


def published_matches(also: Rejudging | None = None) -> QuerySet[Match]:
    """Return the matches of published rejudgings, the newest first; `also` counts as published."""
    published = Rejudging.objects.filter(Q(state=Rejudging.State.PUBLISHED) | Q(pk=also.pk if also else None))
    in_set = Evaluation.matches.through.objects.filter(match=OuterRef("pk"), evaluation__rejudging__in=published)
    return Match.objects.filter(Exists(in_set), repetition__gt=0, state=Match.State.PLAYED).order_by("-repetition")


def replaced_matches(competition: Competition, *, also: Rejudging | None = None) -> dict[int, Match]:
    """Map the key of each replaced match to the match that counts instead; `also` counts as published."""
    counting: dict[_Pair, Match] = {}
    for match in published_matches(also).filter(rules__competition=competition):
        counting.setdefault(_pair(match), match)
    if not counting:  # the usual case
        return {}
    names = {f"{name}__in": {getattr(match, f"{name}_id") for match in counting.values()} for name in _PAIR}
    replaced = {}
    for match in Match.objects.filter(**names):
        newest = counting.get(_pair(match))
        if newest is not None and match.repetition < newest.repetition:
            replaced[match.pk] = newest
    return replaced


def evaluations_using(matches: Iterable[int]) -> QuerySet[Evaluation]:
    """Return the evaluations in force that use one of these replaced matches.

    These are the playing ones, and the last of each submission that did not end by a platform error, unless another
    evaluation supersedes it. Those of withdrawn submissions never count again and are excluded.
    """
    ended = Q(state=Evaluation.State.SCORED) | Q(state=Evaluation.State.VOID, cause=Submission.Cause.TEAM)
    last = Evaluation.objects.filter(COUNTED, ended, submission=OuterRef("submission")).order_by(*NEWEST)
    using = Exists(Evaluation.matches.through.objects.filter(evaluation=OuterRef("pk"), match__in=list(matches)))
    superseding = Evaluation.objects.filter(COUNTED, ~using, replaces=OuterRef("pk"))
    in_force = Q(state=Evaluation.State.PLAYING) | Q(pk=Subquery(last.values("pk")[:1])) & ~Exists(superseding)
    rows = Evaluation.objects.filter(COUNTED, using, in_force, submission__state=Submission.State.READY)
    return rows.order_by("submission", "pk")


def _pair(match: Match) -> _Pair:
    return tuple(getattr(match, f"{name}_id") for name in _PAIR)
