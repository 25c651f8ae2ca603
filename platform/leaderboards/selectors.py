"""Reading pools, evaluations and leaderboards."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from competitions.models import RulesVersion, SampleSet, Track
from competitions.selectors import rules_in_force, sample_set_for
from core.errors import Fault
from leaderboards.models import Evaluation, Pool, Standing
from matches.models import Match
from submissions.models import Submission

log = logging.getLogger(__name__)

PAGE_ROWS = 100
"""Rows on a page of a leaderboard."""


@dataclass(frozen=True)
class BoardRow:
    """One line of a leaderboard. `change` is places won (above 0) or lost in a day, None where it is new.

    `rules` is the version that it was measured under: an older one until it is measured under that in force.
    """

    rank: int
    change: int | None
    team: str
    team_slug: str
    ineligible_for_prizes: bool
    submission: int
    title: str
    value: float
    low: float
    high: float
    samples: int
    failures: int
    worst_opponent: str
    median_seconds: float
    rules: int
    scored_at: datetime


_COLUMNS = {
    "team": F("entry__team__name"),
    "team_slug": F("entry__team__slug"),
    "ineligible_for_prizes": F("entry__ineligible_for_prizes"),
    "submission": F("evaluation__submission_id"),
    "title": F("evaluation__submission__title"),
    "value": F("evaluation__value"),
    "low": F("evaluation__low"),
    "high": F("evaluation__high"),
    "samples": F("evaluation__samples"),
    "failures": F("evaluation__failures"),
    "worst_opponent": F("evaluation__worst_opponent__title"),
    "median_seconds": F("evaluation__median_seconds"),
    "rules": F("evaluation__rules__version"),
    "scored_at": F("evaluation__finished_at"),
}


@dataclass(frozen=True)
class BoardPage:
    """A page of a leaderboard: page `number` of `pages`, from 1, of a board of `total` rows."""

    rows: Sequence[BoardRow]
    number: int
    pages: int
    total: int


def board(track: Track, page: int | str = 1, *, page_rows: int = PAGE_ROWS) -> BoardPage:
    """A page of the track's leaderboard in two queries; a number that is no page gives the nearest one.

    Within a tie teams are listed by their slug, which is no ranking.
    """
    standings = Standing.objects.filter(track=track).order_by("rank", "entry__team__slug")
    chosen = Paginator(standings.values("rank", "previous_rank", **_COLUMNS), page_rows).get_page(page)
    rows = [_board_row(row) for row in chosen.object_list]
    return BoardPage(rows, chosen.number, chosen.paginator.num_pages, chosen.paginator.count)


def _board_row(values: Mapping[str, Any]) -> BoardRow:
    shown = dict(values)
    before = shown.pop("previous_rank")
    return BoardRow(change=None if before is None else before - shown["rank"], **shown)


def evaluation_of(submission: Submission) -> Evaluation | None:
    """The newest evaluation of a submission, with its pool, sample set, rules and worst opponent."""
    return (
        submission.evaluations.select_related("pool", "sample_set", "rules", "worst_opponent").order_by("-pk").first()
    )


def pool_in_force(track: Track) -> Pool | None:
    """The newest pool of a track's own players; None before the first one is made."""
    return track.pools.order_by("-number").first()


def opposing_pool(track: Track) -> Pool | None:
    """The pool in force that submissions to this track meet: models for attacks, untargeted attacks for models."""
    kind = Track.Kind.UNTARGETED if track.kind == Track.Kind.MODEL else Track.Kind.MODEL
    return (
        Pool.objects.filter(track__competition=track.competition_id, track__kind=kind)
        .select_related("track")
        .order_by("-number")
        .first()
    )


class Terms(NamedTuple):
    """What scores that are compared have in common, by the columns of an evaluation."""

    pool: Pool
    rules: RulesVersion
    sample_set: SampleSet


def terms_in_force(track: Track) -> Terms | None:
    """What submissions to the track are measured under, on the validation samples; None before there is a pool.

    Raises `Fault` where the competition has no rules or no validation samples.
    """
    pool = opposing_pool(track)
    if pool is None:
        return None
    return Terms(pool, rules_in_force(track.competition), sample_set_for(track.competition, "validation"))


def counting() -> QuerySet[Submission]:
    """Submissions that may stand on a board: ready, not disqualified, and not found void by their own cause since
    they were last scored. A void evaluation of the platform's cause says nothing of a submission."""
    scored_since = Evaluation.objects.filter(
        submission=OuterRef("submission"), state=Evaluation.State.SCORED, pk__gt=OuterRef("pk")
    )
    void = Evaluation.objects.filter(
        ~Exists(scored_since), state=Evaluation.State.VOID, cause=Submission.Cause.TEAM
    ).values("submission")
    return Submission.objects.filter(~Q(pk__in=void), state=Submission.State.READY, disqualified_at__isnull=True)


def over() -> QuerySet[Evaluation]:
    """Evaluations that still play although each of their matches is played or failed."""
    unfinished = Evaluation.matches.through.objects.filter(
        evaluation=OuterRef("pk"), match__state__in=[Match.State.WAITING, Match.State.PLAYING]
    )
    return Evaluation.objects.filter(~Exists(unfinished), state=Evaluation.State.PLAYING)


def unmeasured() -> Iterator[Submission]:
    """Ready submissions that should be evaluated: those that never were, and the newest of each repository where it
    was not measured under the terms in force. So new terms measure again what counts, not what is superseded."""
    newest = counting().filter(repository=OuterRef("repository"))
    for track in Track.objects.filter(repositories__isnull=False).select_related("competition").distinct():
        try:
            terms = terms_in_force(track)
        except Fault:
            log.exception("nothing of %s can be measured", track)
            continue
        if terms is not None:
            yield from (
                Submission.objects.filter(
                    repository__track=track, state=Submission.State.READY, disqualified_at__isnull=True
                )
                .filter(~Exists(Evaluation.objects.filter(submission=OuterRef("pk"), **terms._asdict())))
                .annotate(newest=Subquery(newest.order_by("-pk").values("pk")[:1]))
                .filter(Q(newest=F("pk")) | ~Exists(Evaluation.objects.filter(submission=OuterRef("pk"))))
                .order_by("pk")
            )
