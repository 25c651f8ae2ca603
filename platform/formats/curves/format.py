"""The parts of the curves format."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from django.db.models import F, QuerySet
from django.urls import URLPattern

from api.extension_points import further_addresses
from competitions.extension_points import sets_in_use
from competitions.models import Competition, SampleSet
from core import worker_notifications
from formats.base import Format, register
from formats.curves import NAME
from formats.curves.benchmark_work import benchmarks, without_a_score
from formats.curves.best_known.proof_work import proofs
from formats.curves.models import Benchmark, Proof
from formats.curves.player_builds import build
from formats.curves.preflight import check_commit
from formats.curves.round_format import CurvesRounds
from formats.curves.rules_and_tracks import CurvesCompetition
from submissions.extension_points import players_in_use, waiting_for_score
from submissions.formats import SubmissionFormat
from submissions.models import Player, Submission
from submissions.smoke_test import SmokeTest
from workers.work_kind_interface import kinds


def smoke_test(competition: Competition) -> SmokeTest[Any]:
    """Return the smoke test of a competition."""
    from formats.curves.smoke_test import CurvesSmokeTest  # noqa: PLC0415 - see its docstring

    return CurvesSmokeTest.of(competition)


def follow(submission: Submission) -> None:
    """Notify a worker that requests benchmarks and scores them."""
    worker_notifications.notify("curves.sweep")


@sets_in_use.add
def benchmarked_sets() -> QuerySet[SampleSet]:
    """Return the sample sets on which models were attacked."""
    return SampleSet.objects.filter(benchmarks__fence__gt=0)


@players_in_use.add
def waiting_players() -> QuerySet[Player]:
    """Return the models that are still to be attacked."""
    needless = benchmarks.needless().exclude(state=Benchmark.State.CLAIMED)
    open_ = Benchmark.objects.exclude(state=Benchmark.State.PLAYED).exclude(pk__in=needless.values("pk"))
    return Player.objects.filter(submissions__benchmarks__in=open_)


@further_addresses.add
def addresses_in_the_api() -> Sequence[URLPattern]:
    """Return the addresses of proofs."""
    from formats.curves.proof_api import addresses  # noqa: PLC0415 - only web servers need it

    return addresses


@players_in_use.add
def players_with_open_proofs() -> QuerySet[Player]:
    """Return the released models against which proofs wait."""
    open_ = Proof.objects.exclude(state=Proof.State.PLAYED)
    return Player.objects.filter(round_entries__proofs__in=open_)


@waiting_for_score.add
def submissions_without_a_score() -> QuerySet[Submission]:
    """Return the submissions that wait for their first score, since they were ready."""
    return without_a_score().annotate(waiting_since=F("state_since"))


submissions = SubmissionFormat(
    check_commit,
    build,
    smoke_test,
    ready=follow,
    eligibility_changed=follow,
    played_by_command=True,
    has_baselines=False,
)
import_module("formats.curves.archived_tables")
register(
    Format(
        name=NAME,
        competition=CurvesCompetition(),
        submissions=submissions,
        rounds=CurvesRounds(),
        pages="formats.curves.pages.CurvesPages",
        api="formats.curves.api.CurvesApi",
    )
)
kinds += [benchmarks, proofs]
