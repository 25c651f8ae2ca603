"""Requests what leaderboards lack, and scores what was played."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from competitions.models import Competition, RulesVersion, SampleSet, Track
from competitions.sample_set_selectors import sample_set_for
from competitions.selectors import rules_in_force
from core import clock, event_log, platform_error_report, submission_traces, worker_notifications
from evaluation.formats.curves.rules import CurvesRules
from evaluation.formats.curves.threat_models import Norm
from formats.curves import NAME
from formats.curves.listed_attacks import knowledge_of
from formats.curves.models import Benchmark, ModelScore
from formats.curves.stored_results import ModelStanding, standing_under
from rounds.models import Round
from submissions.models import Submission
from submissions.selectors import ready_submissions
from workers.models import Priority

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Measure:
    """On what the leaderboards of a competition measure: the rules in force, and the samples."""

    rules: RulesVersion
    samples: SampleSet


def measure_of(competition: Competition) -> Measure:
    """Return on what the leaderboards measure now. Raise `Fault` or `Refusal` without rules or samples."""
    return Measure(rules_in_force(competition), sample_set_for(competition, SampleSet.Purpose.VALIDATION))


def newest_benchmarks(submission: Submission) -> list[Benchmark]:
    """Return the benchmarks for the leaderboard, under the newest rules that a submission met."""
    measure = measure_of(submission.repository.track.competition)
    own = submission.benchmarks.filter(round=None).order_by("pk")
    return list(own.filter(rules=measure.rules, sample_set=measure.samples))


def request(submission: Submission, measure: Measure, round_: Round | None = None) -> list[Benchmark]:
    """Return the rows of all attacks of the rules against a submission, not stored."""
    return [
        Benchmark(
            submission=submission, sample_set=measure.samples, rules=measure.rules, round=round_,
            entry=None if round_ else submission.repository.entry,
            priority=Priority.ROUND if round_ else Priority.BOARD,
            attack=each.name, goal=each.goal.value, norm=each.norm.value, knowledge=knowledge_of(each).value,
            queries=each.queries,
        )
        for each in measure.rules.rules_as(CurvesRules).attacks
    ]  # fmt: skip


def sweep() -> None:
    """Request what leaderboards lack, except in archived competitions, and score what is complete."""
    for competition in Competition.objects.filter(format=NAME):
        measure = measure_of(competition)
        ready = ready_submissions().filter(repository__track__competition=competition)
        known = Benchmark.objects.filter(sample_set=measure.samples, rules=measure.rules)
        if competition.archived_at is not None:
            ready = ready.none()
        missing = ready.exclude(pk__in=known.values("submission")).select_related("repository__entry").order_by("pk")
        rows = [row for each in missing for row in request(each, measure)]
        Benchmark.objects.bulk_create(rows, ignore_conflicts=True)
        if rows:
            worker_notifications.notify("workers.play")
        score(Benchmark.objects.filter(submission__repository__track__competition=competition))


def score(benchmarks: QuerySet[Benchmark]) -> None:
    """Store the standings that follow from played benchmarks, where all of a submission ended without an error."""
    keys = ("submission", "sample_set", "rules")
    scored = ModelScore.objects.filter(**{key: OuterRef(key) for key in keys})
    groups = benchmarks.filter(~Exists(scored)).order_by().values(*keys)
    complete = groups.annotate(open=Count("pk", filter=Q(result=""))).filter(open=0)
    for key in complete.values_list(*keys).order_by(*keys):
        try:
            _score(*key)
        except Exception as error:  # any error: the others are still scored
            platform_error_report.report(log, error, "submission %s cannot be scored", key[0])


def _score(submission: int, samples: int, rules: int) -> None:
    with transaction.atomic():
        locked = Submission.objects.select_for_update(no_key=True).get(pk=submission)
        if ModelScore.objects.filter(submission=submission, sample_set=samples, rules=rules).exists():
            return  # another process was faster
        played = _of(submission, samples, rules)
        # a freeze locks the track, too: whatever the public sees during it was stored before
        Track.objects.select_for_update(no_key=True).get(pk=locked.repository.track_id)
        ModelScore.objects.bulk_create(standings_of(played), ignore_conflicts=True)
        if played.filter(round=None).exists():
            event_log.record("score", locked)
            submission_traces.span_of_commit("score", locked.pk)


def _of(submission: int, samples: int, rules: int) -> QuerySet[Benchmark]:
    rows = Benchmark.objects.filter(submission=submission, sample_set=samples, rules=rules)
    return rows.select_related("rules__competition")


def standings_of(benchmarks: Iterable[Benchmark]) -> list[ModelScore]:
    """Return the standing of each threat model, scored now, not stored; `benchmarks` are all of one submission."""
    found, now = [], clock.database_now()
    rows = sorted(benchmarks, key=threat_of)
    for (knowledge, goal, norm), group in groupby(rows, key=threat_of):
        own = list(group)
        standing = of_threat_model(own)
        found.append(
            ModelScore(
                submission_id=own[0].submission_id, sample_set_id=own[0].sample_set_id, rules_id=own[0].rules_id,
                knowledge=knowledge, goal=goal, norm=norm, accuracy=standing.accuracy,
                clean_accuracy=standing.clean_accuracy, median_distance=standing.median_distance,
                budgets=list(standing.budgets), curve=list(standing.curve), scored_at=now,
            )
        )  # fmt: skip
    return found


def of_threat_model(benchmarks: Sequence[Benchmark]) -> ModelStanding:
    """Return the standing that follows from all attacks of one threat model."""
    rules, norm = benchmarks[0].rules.rules_as(CurvesRules), Norm(benchmarks[0].norm)
    return standing_under([each.result for each in benchmarks], rules.budget(norm))


def threat_of(row: Benchmark | ModelScore) -> tuple[str, str, str]:
    """Return the threat model as leaderboards have it: what an attack sees, its goal and its norm."""
    return row.knowledge, row.goal, row.norm
