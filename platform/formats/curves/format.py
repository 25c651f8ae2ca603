"""The parts of the curves format."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import URLPattern

from api.extension_points import further_addresses
from competitions.extension_points import sets_in_use
from competitions.models import Competition, SampleSet
from core import worker_notifications
from formats.base import Format, register
from formats.curves import NAME
from formats.curves.benchmark_work import benchmarks
from formats.curves.best_known.proof_work import proofs
from formats.curves.models import Benchmark, Proof
from formats.curves.player_builds import build
from formats.curves.preflight import check_commit
from formats.curves.round_format import CurvesRounds
from formats.curves.rules_and_tracks import CurvesCompetition
from submissions.extension_points import players_in_use, void_by_platform
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
    open_ = Benchmark.objects.exclude(state=Benchmark.State.PLAYED)
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


@void_by_platform.add
def given_up() -> QuerySet[Submission]:
    """Return the submissions of which a benchmark was given up after platform errors, also if it was replayed since."""
    failed = Q(state=Benchmark.State.FAILED) | Q(given_up_at__isnull=False)
    return Submission.objects.filter(pk__in=Benchmark.objects.filter(failed, round=None).values("submission"))


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
