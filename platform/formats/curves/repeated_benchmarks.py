"""What a new version of the rules makes again: the benchmarks of every submission."""

from __future__ import annotations

from competitions.formats import RepeatedWork
from competitions.models import Competition
from evaluation.formats.curves.rules import CurvesRules
from formats.curves.measured_time_and_disk import measured_benchmarks, most_queries
from formats.curves.models import Benchmark
from formats.curves.requests_and_scores import measure_of
from submissions.selectors import ready_submissions


def repeated_benchmarks(competition: Competition) -> RepeatedWork:
    """Return what is benchmarked again under a new version: every submission that may count, by every attack."""
    known = Benchmark.objects.filter(rules__competition=competition, round=None)
    submissions = ready_submissions().filter(pk__in=known.values("submission")).count()
    if (measured := measured_benchmarks(known)) is None:
        return RepeatedWork(submissions, None)
    measure = measure_of(competition)
    queries = most_queries(measure.rules.rules_as(CurvesRules).attacks, measure.samples.count)
    return RepeatedWork(submissions, submissions * queries * measured.seconds_per_query)
