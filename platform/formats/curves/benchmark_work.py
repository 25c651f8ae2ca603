"""Benchmarks as work of the workers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from competitions.models import RulesVersion, SampleSet
from evaluation.formats.curves.rules import CurvesRules
from formats.curves import NAME
from formats.curves.listed_attacks import most_questions
from formats.curves.models import Benchmark, ModelScore
from rounds.models import Round
from submissions.evaluation_refunds import refund_given_up
from submissions.models import Submission
from submissions.selectors import ready_submissions
from workers.calibration import calibration
from workers.models import Worker
from workers.sandboxes import Sandbox
from workers.single_item_work import RowWork

_MARGIN = timedelta(hours=1)


class BenchmarkWork(RowWork[Benchmark]):
    """One attack against one submission."""

    name = "benchmarks"
    tables = (Benchmark,)

    def playable(self) -> QuerySet[Benchmark]:
        ready = {"submission__state": Submission.State.READY, "submission__disqualified_at": None}
        needed = Q(round=None, **ready) & _in_force()  # not of one that was withdrawn or disqualified
        running = Benchmark.objects.filter(
            needed | Q(round__state=Round.State.PLAYING), rules__competition__archived_at=None
        )
        return running.select_related("sample_set", "rules__competition", "submission__player__repository")

    def needless(self) -> QuerySet[Benchmark]:
        """Return those of cancelled rounds, and for leaderboards those of withdrawn and disqualified submissions.

        Leaderboards also need none under rules or on samples that are no longer in force.
        """
        gone = Q(submission__state=Submission.State.WITHDRAWN) | Q(submission__disqualified_at__isnull=False)
        on_no_board = Q(round=None) & (gone | ~_in_force())
        return Benchmark.objects.filter(on_no_board | Q(round__state=Round.State.CANCELLED))

    def waiting_for(self, worker: Worker, now: datetime) -> QuerySet[Benchmark]:
        """Return also models that need a GPU to workers that have one."""
        waiting = self.waiting(now)
        return waiting if worker.device else waiting.exclude(submission__player__gpu=True)

    def longest(self, claim: Benchmark) -> timedelta:
        """Return twice the limits of the model for all that the attack may ask for all images, and an hour."""
        rules = claim.rules.rules_as(CurvesRules)
        questions = claim.sample_set.count * most_questions(claim.listed)
        seconds = rules.setup_seconds + questions * rules.model_seconds_per_image
        return timedelta(seconds=2 * calibration() * seconds) + _MARGIN

    def play(self, item: Benchmark, sandbox: Sandbox) -> Mapping[str, Any]:
        from formats.curves.benchmark_runs import played  # noqa: PLC0415 - see its docstring

        return played(item, sandbox)

    def log_ids(self, claim: Benchmark) -> dict[str, int]:
        return {"benchmark": claim.pk}

    def traced(self, claim: Benchmark) -> list[int]:
        return [claim.submission_id]

    def fault_columns(self, fault: str) -> dict[str, Any]:
        return {"fault": fault}

    def given_up(self, item: Benchmark, reason: str) -> None:
        """Refund the slot of a submission that waits for its first score; a round waits for an organiser, too."""
        if item.round_id is None:
            refund_given_up(without_a_score().filter(pk=item.submission_id))


def without_a_score() -> QuerySet[Submission]:
    """Return the submissions that may count and have no score yet. A model that failed gets none, and does not wait."""
    ready = ready_submissions().filter(repository__track__competition__format=NAME)
    own = {"submission": OuterRef("pk")}
    scored = ModelScore.objects.filter(**own, sample_set__purpose=SampleSet.Purpose.VALIDATION)
    failed = Benchmark.objects.filter(**own, round=None).exclude(reason="")
    return ready.filter(~Exists(scored), ~Exists(failed))


def _in_force() -> Q:
    """Return the condition that a benchmark is under the rules and on the samples of its leaderboard."""
    of_competition = {"competition": OuterRef("rules__competition")}
    rules = RulesVersion.objects.filter(**of_competition).order_by("-version")
    imported = SampleSet.objects.filter(**of_competition, drawn_from=None, purpose=SampleSet.Purpose.VALIDATION)
    samples = imported.order_by("-pk")
    return Q(rules=Subquery(rules.values("pk")[:1]), sample_set=Subquery(samples.values("pk")[:1]))


benchmarks = BenchmarkWork()
