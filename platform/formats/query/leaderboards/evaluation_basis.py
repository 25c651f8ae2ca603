"""Which pools, evaluations and submissions count, and which evaluations are still missing."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from django.db.models import BooleanField, Case, Exists, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from competitions.models import RulesVersion, SampleSet, Track
from competitions.sample_set_selectors import sample_set_for
from competitions.selectors import rules_in_force
from core import platform_error_report
from core.errors import Fault
from formats.query import NAME
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.ranking import BasisKey, Chosen, ScoredEvaluation, order, order_before
from formats.query.leaderboards.submission_choices import chosen_by_track, chosen_keys
from formats.query.matches.models import Match
from formats.query.matches.selectors import waiting_for_live
from formats.query.tracks import MODEL, UNTARGETED
from repositories.models import Repository
from submissions.models import Submission
from workers.queue import idle_workers
from workers.selectors import gpu_worker_is_live

log = logging.getLogger(__name__)

COUNTED = Q(counts=True)
"""Evaluations that count for leaderboards: all but those of an unpublished rejudging."""

BASIS = ("pool", "rules", "sample_set")
"""Columns of an evaluation that name its basis; their keys only grow."""

NEWEST = ("-pool_id", "-rules_id", "-sample_set_id", "-pk")
"""Order of a submission's evaluations, the one that counts first: the latest basis, then the latest start.

An evaluation that started later under an earlier basis repeats what a published rejudging changed."""

OWN_OPPONENTS = "own_opponents"
"""Reason of an attack's evaluation without a score: all models of the pool belong to its own team."""

AT_ONCE = 20
"""Teams down to this place on the previous board are measured first; the others when workers are idle."""


def measured_tracks() -> QuerySet[Track]:
    """Return the tracks whose submissions play matches: those of competitions of the format."""
    return Track.objects.filter(competition__format=NAME)


def evaluated_tracks() -> QuerySet[Track]:
    """Return those of `measured_tracks` in which evaluations begin: no competition is archived."""
    return measured_tracks().filter(competition__archived_at=None)


def pool_in_force(track: Track) -> Pool | None:
    """Return the newest pool of a track's own players, None before the first one."""
    return track.pools.order_by("-number").first()


def opposing_pools(track: Track) -> QuerySet[Pool]:
    """Return the pools that submissions to this track are measured against, the one in force first.

    Models meet untargeted attacks; attacks meet models.
    """
    return Pool.objects.filter(track__competition=track.competition_id, track__name=_opposing(track)).order_by(
        "-number"
    )


def _opposing(track: Track) -> str:
    return UNTARGETED if track.name == MODEL else MODEL


def opposing_pool(track: Track) -> Pool | None:
    """Return the pool in force that submissions to this track are measured against."""
    return opposing_pools(track).select_related("track").first()


class EvaluationBasis(NamedTuple):
    """Pool, sample set and rules that comparable scores share, as columns of an evaluation."""

    pool: Pool
    rules: RulesVersion
    sample_set: SampleSet

    @property
    def key(self) -> BasisKey:
        """The basis as leaderboards compare it."""
        return self.pool.pk, self.rules.pk, self.sample_set.pk


def basis_in_force(track: Track) -> EvaluationBasis | None:
    """Return the basis for new submissions to the track, on the validation samples; None before there is a pool.

    Raise `Fault` where the competition has no rules or no validation samples.
    """
    pool = opposing_pool(track)
    if pool is None:
        return None
    return EvaluationBasis(pool, rules_in_force(track.competition), sample_set_for(track.competition, "validation"))


def ranking_basis(track: Track) -> EvaluationBasis | None:
    """Return the basis that scores of the track are ranked under; None where nothing can be measured."""
    try:
        return basis_in_force(track)
    except Fault:  # reported by the sweep, which asks for the same in `_by_track`
        return None


def key_in_force(track: Track) -> BasisKey | None:
    """Return the key of `ranking_basis`."""
    return keys_in_force([track])[track.pk]


def opposing_pool_keys(tracks: Iterable[Track]) -> dict[int, int | None]:
    """Return the key of the `opposing_pool` of each track, by the key of the track, in one query."""
    tracks = list(tracks)
    competitions = {track.competition_id for track in tracks}
    made = Pool.objects.filter(track__competition__in=competitions).order_by("number")
    newest = {
        (competition, name): pk for competition, name, pk in made.values_list("track__competition", "track__name", "pk")
    }  # the last one counts
    return {track.pk: newest.get((track.competition_id, _opposing(track))) for track in tracks}


def keys_in_force(tracks: Iterable[Track]) -> dict[int, BasisKey | None]:
    """Return the key of the `ranking_basis` of each track, by the key of the track, in one query."""
    pools = Pool.objects.filter(track__competition=OuterRef("competition")).order_by("-number").values("pk")
    versions = RulesVersion.objects.filter(competition=OuterRef("competition")).order_by("-version").values("pk")
    sets = SampleSet.objects.filter(
        competition=OuterRef("competition"), purpose=SampleSet.Purpose.VALIDATION, drawn_from__isnull=True
    )
    rows = Track.objects.filter(pk__in=[track.pk for track in tracks]).values_list(
        "pk",
        Case(
            When(name=MODEL, then=Subquery(pools.filter(track__name=UNTARGETED)[:1])),
            default=Subquery(pools.filter(track__name=MODEL)[:1]),
        ),
        Subquery(versions[:1]),
        Subquery(sets.order_by("-pk").values("pk")[:1]),
    )
    return {key: (pool, rules, samples) if pool and rules and samples else None for key, pool, rules, samples in rows}


def measured_under(key: BasisKey | None) -> Q:
    """Return the condition that the evaluation of a standing has the basis with this key."""
    if key is None:
        return Q(pk__in=[])
    names = ("evaluation__pool", "evaluation__rules", "evaluation__sample_set")
    return Q(**dict(zip(names, key, strict=True)))


def counting(seen: Q = COUNTED) -> QuerySet[Submission]:
    """Return submissions that may be on a leaderboard: ready, neither disqualified nor baselines, and not void since
    their last score.

    An evaluation that is void by a platform error does not exclude its submission. `seen` selects the evaluations.
    """
    return (valid() if seen is COUNTED else _valid(seen)).filter(baseline_at=None)


def valid_baselines() -> QuerySet[Submission]:
    """Return the submissions that organisers made baselines, but for those that would not count either."""
    return valid().filter(baseline_at__isnull=False)


def valid() -> QuerySet[Submission]:
    """Return the submissions of `counting` and of `valid_baselines`."""
    return _valid_now().all()


@cache
def _valid_now() -> QuerySet[Submission]:
    # for most questions about leaderboards: Django takes longer to make this query than the database to answer it
    return _valid(COUNTED)


def _valid(seen: Q) -> QuerySet[Submission]:
    evaluations = Evaluation.objects.filter(seen)
    scored_since = evaluations.filter(_newer(), submission=OuterRef("submission"), state=Evaluation.State.SCORED)
    void = evaluations.filter(~Exists(scored_since), state=Evaluation.State.VOID, cause=Submission.Cause.TEAM).values(
        "submission"
    )
    return _ready().filter(~Q(pk__in=void))


def _newer() -> Q:
    """Return the condition that an evaluation precedes that of the outer query in the order of `NEWEST`."""
    newer, equal = Q(), Q()
    for name in (*BASIS, "pk"):
        newer |= equal & Q(**{f"{name}__gt": OuterRef(name)})
        equal &= Q(**{name: OuterRef(name)})
    return newer


def scored_rows(track: Track, seen: Q = COUNTED, teams: Iterable[str] | None = None) -> list[ScoredEvaluation]:
    """Return the scores that the leaderboard of a track follows from; `seen` selects the evaluations.

    `teams`: only those of the teams with these slugs.
    """
    return scored_rows_of([track], seen, teams)[track.pk]


def scored_rows_of(
    tracks: Iterable[Track], seen: Q = COUNTED, teams: Iterable[str] | None = None
) -> dict[int, list[ScoredEvaluation]]:
    """Return the `scored_rows` of each track, by the key of the track, in one query."""
    found: dict[int, list[ScoredEvaluation]] = {track.pk: [] for track in tracks}
    submissions = counting(seen).filter(repository__track__in=list(found))
    if teams is not None:
        submissions = submissions.filter(repository__entry__team__slug__in=teams)
    rows = Evaluation.objects.filter(seen, submission__in=submissions, state=Evaluation.State.SCORED)
    # a score of a rejudging is known since its publication, not since it was played
    known_at = Coalesce("rejudging__settled_at", "finished_at")
    columns = ("submission__repository__track", "submission__repository__entry", "submission", "pk", known_at, "value")
    bases: dict[BasisKey, BasisKey] = {}  # thousands of rows share a few
    for track, entry, submission, pk, at, value, pool, rules, samples in rows.order_by().values_list(*columns, *BASIS):
        basis = bases.setdefault(key := (pool, rules, samples), key)
        found[track].append(ScoredEvaluation(entry, submission, pk, at, value, basis))
    return found


def counted_at(at: datetime) -> Q:
    """Return the evaluations that leaderboards used at `at`."""
    published = Q(rejudging__isnull=True) | Q(rejudging__settled_at__lte=at)
    return COUNTED & published & Q(finished_at__lte=at)


def places_at(tracks: Iterable[Track], at: datetime, chosen: Mapping[int, Chosen]) -> dict[int, dict[int, int]]:
    """Return the places by entry on each track's leaderboard as of `at`, without entries that no longer count.

    Both are by the key of the track, as is what teams had `chosen`. Scores of earlier bases come last.
    """
    tracks = list(tracks)
    rows = scored_rows_of(tracks, counted_at(at))
    return {track.pk: order(rows[track.pk], track.name, chosen[track.pk]) for track in tracks}


def finished_evaluations() -> QuerySet[Evaluation]:
    """Return playing evaluations without unfinished matches.

    Those of withdrawn submissions are excluded: they get no score (`services.end_withdrawn`).
    """
    unfinished = Evaluation.matches.through.objects.filter(
        evaluation=OuterRef("pk"),
        match__state__in=[Match.State.WAITING, Match.State.PLAYING, Match.State.AUDIT, Match.State.SUSPENDED],
    )
    playing = Evaluation.objects.filter(~Exists(unfinished), state=Evaluation.State.PLAYING)
    return playing.exclude(submission__state=Submission.State.WITHDRAWN)


def unevaluated() -> Iterator[Submission]:
    """Yield ready submissions to evaluate now, in the order of the previous board.

    These are submissions never measured, baselines that were not measured on the current basis, and the one that counts
    of each repository, if it was not measured on the current basis, and has no score or its team was among the best
    `AT_ONCE` before that basis. So a new basis repeats what counts, the top of the board first.
    `Competition.rescore_all` lifts the limit.
    """
    for track, basis, rows in _by_track():
        yield from rows.filter(measured=False).order_by("pk")
        counted = rows.filter(counted=True).order_by("pk")
        yield from counted.filter(measured=True, scored=False)
        yield from rows.filter(measured=True, baseline_at__isnull=False).order_by("pk")
        late = list(counted.filter(scored=True).select_related("repository"))
        place = _places_before(track, basis, late)
        for submission in sorted(late, key=lambda row: (place[row.pk], row.pk)):
            if track.competition.rescore_all or place[submission.pk] <= AT_ONCE:
                yield submission


def unresolved() -> QuerySet[Evaluation]:
    """Return evaluations on the current basis that ended by a platform error and have no successor.

    Their submissions are the ones that count of their repository; until one is measured again, an old score stays
    provisional. Attacks that met only models of their own team are excluded: the next pool measures them again.
    """
    tracks = list(evaluated_tracks().filter(repositories__isnull=False).select_related("competition").distinct())
    found = Q(pk__in=[])
    for track, key in keys_in_force(tracks).items():
        if key is not None:
            found |= Q(submission__repository__track=track, **dict(zip(BASIS, key, strict=True)))
    alike = {name: OuterRef(name) for name in ("submission", *BASIS)}
    by_platform = Q(state=Evaluation.State.VOID, cause=Submission.Cause.PLATFORM)
    other = Evaluation.objects.filter(COUNTED, ~by_platform | Q(pk__gt=OuterRef("pk")), **alike)
    counted = Subquery(_counted_of("submission__repository", chosen_keys(chosen_by_track(tracks).values())))
    rows = Evaluation.objects.filter(found, by_platform, COUNTED, ~Exists(other), submission=counted)
    return rows.exclude(reason=OWN_OPPONENTS).order_by("pk")


def unrefined() -> Submission | None:
    """Return the best-placed submission that keeps an old score until workers are idle.

    None while workers are busy: a piece waits that a live worker could claim, or every live worker has one.
    Submissions that no live worker can play are excluded.
    """
    if waiting_for_live().exists() or not idle_workers():
        return None
    playable = Q() if gpu_worker_is_live() else Q(needs_gpu=False)
    found: list[tuple[int, int]] = []
    for track, basis, rows in _by_track():
        late = list(rows.filter(playable, counted=True, scored=True).select_related("repository"))
        found += [(place, pk) for pk, place in _places_before(track, basis, late).items()]
    return Submission.objects.get(pk=min(found)[1]) if found else None


def evaluated_again(track: Track) -> QuerySet[Submission]:
    """Return the submissions that a new basis measures again: of each repository the one that counts, and baselines.

    Only those that were measured.
    """
    measured = Exists(Evaluation.objects.filter(COUNTED, submission=OuterRef("pk")))
    counted = Q(pk__in=_counted(track))
    return _ready().filter(measured, counted | Q(baseline_at__isnull=False), repository__track=track)


def _places_before(track: Track, basis: EvaluationBasis, late: list[Submission]) -> dict[int, int]:
    """Return the place of each submission's team on the board before the current basis; last if it had none."""
    if not late:
        return {}
    before = order_before(scored_rows(track), track.name, basis.key, chosen_by_track([track])[track.pk])
    return {submission.pk: before.get(submission.repository.entry_id, len(before) + 1) for submission in late}


def _by_track() -> Iterator[tuple[Track, EvaluationBasis, QuerySet[Any]]]:
    """Yield each track's current basis with its ready submissions that were not measured on it.

    Annotations to filter by: `measured` and `scored` (ever), `counted` (it is the one that counts of its repository),
    and `needs_gpu` (for its matches).
    """
    of_it = Evaluation.objects.filter(COUNTED, submission=OuterRef("pk"))
    for track in evaluated_tracks().filter(repositories__isnull=False).select_related("competition").distinct():
        try:
            basis = basis_in_force(track)
        except Fault as fault:
            platform_error_report.report(log, fault, "submissions to %s cannot be measured", track)
            continue
        if basis is None:
            continue
        rows = _ready().filter(~Exists(of_it.filter(**basis._asdict())), repository__track=track)
        if rows.exists():  # usually all are measured, and what follows takes a query for each question
            scored = of_it.filter(state=Evaluation.State.SCORED)
            met = Exists(basis.pool.places.filter(player__gpu=True))
            needs_gpu = ExpressionWrapper(Q(player__gpu=True) | Q(met), output_field=BooleanField())
            counted = ExpressionWrapper(Q(pk__in=_counted(track)), output_field=BooleanField())
            rows = rows.alias(measured=Exists(of_it), scored=Exists(scored), counted=counted)
            yield track, basis, rows.alias(needs_gpu=needs_gpu)


def _counted(track: Track) -> QuerySet[Repository, Any]:
    """Return the key of the submission that counts of each repository of a track.

    Asked of the repositories, not of their submissions, each of which would look for it again.
    """
    counted = Subquery(_counted_of("pk", chosen_keys(chosen_by_track([track]).values())))
    return Repository.objects.filter(track=track).annotate(counted=counted).values("counted")


def _counted_of(repository: str, chosen: Collection[int]) -> QuerySet[Submission, Any]:
    """Return the key of the submission that counts of the outer `repository`: the chosen or else the newest one."""
    rows = counting().filter(repository=OuterRef(repository)).order_by("-pk")
    if chosen:
        rows = rows.order_by(Case(When(pk__in=chosen, then=0), default=1), "-pk")
    return rows.values("pk")[:1]


def _ready() -> QuerySet[Submission]:
    return Submission.objects.filter(state=Submission.State.READY, disqualified_at__isnull=True)
