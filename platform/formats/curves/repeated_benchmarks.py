"""What a new version of the rules makes again: the benchmarks of every submission."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Avg, DurationField, ExpressionWrapper, F

from competitions.formats import RepeatedWork
from competitions.models import Competition
from competitions.selectors import rules_in_force
from formats.curves.models import Benchmark
from formats.curves.rules import curves_rules
from submissions.selectors import ready_submissions


def repeated_benchmarks(competition: Competition) -> RepeatedWork:
    """Return what is benchmarked again under a new version: every submission that may count, by every attack."""
    known = Benchmark.objects.filter(rules__competition=competition, round=None)
    submissions = ready_submissions().filter(pk__in=known.values("submission")).count()
    took = ExpressionWrapper(F("played_at") - F("claimed_at"), output_field=DurationField())
    played = known.filter(state=Benchmark.State.PLAYED, played_at__isnull=False, claimed_at__isnull=False)
    mean: timedelta | None = played.aggregate(mean=Avg(took))["mean"]
    attacks = len(curves_rules(rules_in_force(competition)).attacks)
    return RepeatedWork(submissions, submissions * attacks * mean.total_seconds() if mean is not None else None)
