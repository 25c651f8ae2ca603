"""Which pools, evaluations and submissions count, and what is still to be measured. Part of the selectors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from competitions.models import RulesVersion, SampleSet, Track
from competitions.selectors import rules_in_force, sample_set_for
from core import faults
from core.errors import Fault
from leaderboards.models import Evaluation, Pool
from leaderboards.ranking import BasisKey, Scored, order, order_before
from matches.models import Match
from matches.selectors import gpu_worker_is_live, idle_workers, waiting_for_live
from submissions.models import Submission

log = logging.getLogger(__name__)

COUNTED = Q(counts=True)
"""Evaluations that boards see: all but those of a rejudging that is not applied."""

BASIS = ("pool", "rules", "sample_set")
"""The columns of an evaluation that say under which terms it was measured; their keys only grow."""

NEWEST = ("-pool_id", "-rules_id", "-sample_set_id", "-pk")
"""The evaluations of a submission, that which counts first: of those under the latest terms the last that began. One
that began later under earlier terms follows what was published of those terms."""

OWN_OPPONENTS = "own_opponents"
"""The reason of an attack's evaluation that ended without a score because all models of the pool are its own team's."""

AT_ONCE = 20
"""Those who stood no lower on the board before new terms are measured at once; the others when workers are idle."""


def pool_in_force(track: Track) -> Pool | None:
    """The newest pool of a track's own players; None before the first one is made."""
    return track.pools.order_by("-number").first()


def opposing_pools(track: Track) -> QuerySet[Pool]:
    """The pools that submissions to this track meet or met, the one in force first.

    Models meet untargeted attacks, and attacks meet models.
    """
    track_name = Track.Name.UNTARGETED if track.name == Track.Name.MODEL else Track.Name.MODEL
    return Pool.objects.filter(track__competition=track.competition_id, track__name=track_name).order_by("-number")


def opposing_pool(track: Track) -> Pool | None:
    """The pool in force that submissions to this track meet."""
    return opposing_pools(track).select_related("track").first()


class EvaluationBasis(NamedTuple):
    """What scores that are compared have in common, by the columns of an evaluation."""

    pool: Pool
    rules: RulesVersion
    sample_set: SampleSet

    @property
    def key(self) -> BasisKey:
        """The terms as boards compare them."""
        return self.pool.pk, self.rules.pk, self.sample_set.pk


def basis_in_force(track: Track) -> EvaluationBasis | None:
    """What submissions to the track are measured under, on the validation samples; None before there is a pool.

    Raises `Fault` where the competition has no rules or no validation samples.
    """
    pool = opposing_pool(track)
    if pool is None:
        return None
    return EvaluationBasis(pool, rules_in_force(track.competition), sample_set_for(track.competition, "validation"))


def ranking_basis(track: Track) -> EvaluationBasis | None:
    """The terms that scores on the board of the track are ranked under; None where nothing can be measured."""
    try:
        return basis_in_force(track)
    except Fault:  # reported by the sweep, which asks for the same in `_by_track`
        return None


def key_in_force(track: Track) -> BasisKey | None:
    """The key of `ranking_basis`."""
    basis = ranking_basis(track)
    return basis.key if basis else None


def measured_under(key: BasisKey | None) -> Q:
    """Whether the evaluation of a standing was measured under the terms with this key."""
    if key is None:
        return Q(pk__in=[])
    names = ("evaluation__pool", "evaluation__rules", "evaluation__sample_set")
    return Q(**dict(zip(names, key, strict=True)))


def counting(seen: Q = COUNTED) -> QuerySet[Submission]:
    """Submissions that may stand on a board: ready, not disqualified, and not found void by their own cause since
    they were last scored. A void evaluation of the platform's cause says nothing of a submission.

    `seen` is which evaluations are looked at.
    """
    evaluations = Evaluation.objects.filter(seen)
    scored_since = evaluations.filter(_newer(), submission=OuterRef("submission"), state=Evaluation.State.SCORED)
    void = evaluations.filter(~Exists(scored_since), state=Evaluation.State.VOID, cause=Submission.Cause.TEAM).values(
        "submission"
    )
    return _ready().filter(~Q(pk__in=void))


def _newer() -> Q:
    """Whether an evaluation comes before that of the outer query in the order of `NEWEST`."""
    newer, equal = Q(), Q()
    for name in (*BASIS, "pk"):
        newer |= equal & Q(**{f"{name}__gt": OuterRef(name)})
        equal &= Q(**{name: OuterRef(name)})
    return newer


def scored_rows(track: Track, seen: Q = COUNTED) -> list[Scored]:
    """What the board of a track follows from; `seen` is which evaluations are looked at."""
    rows = Evaluation.objects.filter(
        seen, submission__in=counting(seen).filter(repository__track=track), state=Evaluation.State.SCORED
    )
    # what a rejudging made is known since it was applied, not since it was played
    known_at = Coalesce("rejudging__settled_at", "finished_at")
    columns = ("submission__repository__entry", "submission", "pk", known_at, "value")
    found = rows.values_list(*columns, "pool", "rules", "sample_set")
    return [
        Scored(entry, submission, pk, at, value, (pool, rules, sample_set))
        for entry, submission, pk, at, value, pool, rules, sample_set in found
    ]


def counted_at(at: datetime) -> Q:
    """The evaluations that boards saw at `at`."""
    applied = Q(rejudging__isnull=True) | Q(rejudging__settled_at__lte=at)
    return COUNTED & applied & Q(finished_at__lte=at)


def places_at(track: Track, at: datetime) -> dict[int, int]:
    """The places by entry on the board of a track as it was at `at`, without those that do not count by now.

    Those measured under earlier terms than others come after them.
    """
    return order(scored_rows(track, counted_at(at)), track.name)


def over() -> QuerySet[Evaluation]:
    """Evaluations that still play although none of their matches is to be played any more. Those of submissions that
    were withdrawn are none of them: they get no score (`services.end_withdrawn`)."""
    unfinished = Evaluation.matches.through.objects.filter(
        evaluation=OuterRef("pk"),
        match__state__in=[Match.State.WAITING, Match.State.PLAYING, Match.State.SUSPENDED],
    )
    playing = Evaluation.objects.filter(~Exists(unfinished), state=Evaluation.State.PLAYING)
    return playing.exclude(submission__state=Submission.State.WITHDRAWN)


def unevaluated() -> Iterator[Submission]:
    """Ready submissions that should be evaluated at once: those that never were, and the newest of each repository
    that was not measured under the terms in force, where it has no score or its team stood among the best `AT_ONCE`
    before those terms.

    So new terms measure again what counts, not what is superseded, and first what the board is read for, in the order
    of the old board. `Competition.rescore_all` lifts the limit.
    """
    for track, basis, rows in _by_track():
        yield from rows.filter(measured=False).order_by("pk")
        newest = rows.filter(newest=F("pk")).order_by("pk")
        yield from newest.filter(measured=True, scored=False)
        late = list(newest.filter(scored=True).select_related("repository"))
        place = _places_before(track, basis, late)
        for submission in sorted(late, key=lambda row: (place[row.pk], row.pk)):
            if track.competition.rescore_all or place[submission.pk] <= AT_ONCE:
                yield submission


def unresolved() -> QuerySet[Evaluation]:
    """Evaluations under the terms in force that ended by a platform error, of submissions that count and are the newest
    of their repository, where nothing else was measured under these terms. Until one is measured again, an old score
    stays provisional.

    Those against models of their own team alone are none of them: the next pool measures them again.
    """
    found = Q(pk__in=[])
    newest = counting().filter(repository=OuterRef("submission__repository")).order_by("-pk").values("pk")[:1]
    for track in Track.objects.filter(repositories__isnull=False).select_related("competition").distinct():
        if basis := ranking_basis(track):
            found |= Q(submission__repository__track=track, **basis._asdict())
    alike = {name: OuterRef(name) for name in ("submission", *BASIS)}
    by_platform = Q(state=Evaluation.State.VOID, cause=Submission.Cause.PLATFORM)
    other = Evaluation.objects.filter(COUNTED, ~by_platform | Q(pk__gt=OuterRef("pk")), **alike)
    rows = Evaluation.objects.filter(found, by_platform, COUNTED, ~Exists(other), submission=Subquery(newest))
    return rows.exclude(reason=OWN_OPPONENTS).order_by("pk")


def unrefined() -> Submission | None:
    """The first submission of the old boards that keeps an old score until workers are idle. None while they are not: a
    piece waits that a live one could take up, or no live worker is without one. What none of them could play is left
    out."""
    if waiting_for_live().exists() or not idle_workers():
        return None
    playable = Q() if gpu_worker_is_live() else Q(needs_gpu=False)
    found: list[tuple[int, int]] = []
    for track, basis, rows in _by_track():
        late = list(rows.filter(playable, newest=F("pk"), scored=True).select_related("repository"))
        found += [(place, pk) for pk, place in _places_before(track, basis, late).items()]
    return Submission.objects.get(pk=min(found)[1]) if found else None


def _places_before(track: Track, basis: EvaluationBasis, late: list[Submission]) -> dict[int, int]:
    """Of each submission, the place of its team on the board before the terms in force; the last where it had none."""
    if not late:
        return {}
    before = order_before(scored_rows(track), track.name, basis.key)
    return {submission.pk: before.get(submission.repository.entry_id, len(before) + 1) for submission in late}


def _by_track() -> Iterator[tuple[Track, EvaluationBasis, QuerySet[Any]]]:
    """Of each track the terms in force and the ready submissions that were not measured under them. To filter by:
    `measured` and `scored` (at all), `newest`, the key of the one that counts of the same repository, and `needs_gpu`,
    to be measured.
    """
    of_it = Evaluation.objects.filter(COUNTED, submission=OuterRef("pk"))
    newest = counting().filter(repository=OuterRef("repository")).order_by("-pk").values("pk")[:1]
    for track in Track.objects.filter(repositories__isnull=False).select_related("competition").distinct():
        try:
            basis = basis_in_force(track)
        except Fault as fault:
            faults.report(log, fault, "nothing of %s can be measured", track)
            continue
        if basis is not None:
            rows = _ready().filter(~Exists(of_it.filter(**basis._asdict())), repository__track=track)
            scored = of_it.filter(state=Evaluation.State.SCORED)
            met = Exists(basis.pool.places.filter(player__gpu=True))
            needs_gpu = ExpressionWrapper(Q(player__gpu=True) | Q(met), output_field=BooleanField())
            rows = rows.alias(measured=Exists(of_it), scored=Exists(scored), newest=Subquery(newest))
            yield track, basis, rows.alias(needs_gpu=needs_gpu)


def _ready() -> QuerySet[Submission]:
    return Submission.objects.filter(state=Submission.State.READY, disqualified_at__isnull=True)
