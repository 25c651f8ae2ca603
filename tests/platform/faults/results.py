"""What a season ends with, without keys, times and names of hosts: equal however often something failed on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.db.models import Model, Sum

from formats.curves.models import Benchmark, ModelScore
from formats.query.leaderboards.models import Evaluation, PoolPlace, Standing
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.rounds.models import Decision, RoundMatch, RoundPool, RoundStage
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant, PairTotal, RepeatRun
from rounds.models import Round, RoundEntry
from submissions.build_outcomes import READY
from submissions.models import Build, Player, QuotaSlot, Submission
from workers.models import HostComparison, WorkerTime

_TEAM = ("repository__entry__team__slug", "repository__track__name")
_OF_SUBMISSION = ("submission__repository__entry__team__slug", "submission__repository__track__name", "submission__tag")
_PAIR = ("match__model__digest", "match__attack__digest", "match__sample_set__name")

COLUMNS: dict[type[Model], tuple[str, ...]] = {
    Submission: (*_TEAM, "commit", "tag", "title", "state", "reason", "problem", "player__digest", "overdue_at"),
    QuotaSlot: (*_TEAM, "commit", "tag", "state", "reason", "problem", "submission__tag"),
    Player: ("track_name", "digest", "title", "baseline", "commit", "tree_digest"),
    HostComparison: ("player", "compared", "unequal"),
    Round: ("number", "state", "problem", "outcome"),
    RoundEntry: (*_OF_SUBMISSION, "order", "eligible", "place", "value", "low", "high", "stage", "prize_place"),
    Match: ("model__digest", "attack__digest", "sample_set__name", "repetition", "state", "audit", "fault", "seed"),
    Piece: (*_PAIR, "kind", "number", "first", "count", "state", "artefact", "audit", "failures", "seconds"),
    SampleResult: (*_PAIR, "piece__number", "sample", "outcome", "distance", "queries", "reason"),
    PoolPlace: ("pool__track__name", "pool__number", "place", "player__digest"),
    Evaluation: (*_OF_SUBMISSION, "pool__number", "counts", "state", "cause", "value", "low", "high", "samples", "met"),
    Standing: ("track__name", "entry__team__slug", "place", "rank", "evaluation__value", "rank_low", "rank_high"),
    RoundMatch: ("match__model__digest", "match__attack__digest", "samples", "median", "held"),
    RoundStage: ("bracket", "number", "samples", "panel", "counted"),
    Decision: ("stage__bracket", "stage__number", "player__digest", "place", "value", "kept", "inconsistent"),
    RoundPool: ("round__number", "pool__track__name", "pool__number"),
    Entrant: (*_OF_SUBMISSION, "player__digest", "tournament__sample_set__name", "rank", "score", "raw", "worst", "low",
              "high"),
    AttackRun: ("attack__digest", "batch", "tournament__sample_set__name", "state", "made", "hashes", "artefact"),
    DefenceRun: ("defence__digest", "attack_run__attack__digest", "attack_run__batch",
                 "attack_run__tournament__sample_set__name", "state", "labelled", "correct", "hits", "labels"),
    # which images are labelled again depends on the order in which they were labelled
    RepeatRun: ("defence__digest", "number", "tournament__sample_set__name", "state", "changed", "lost"),
    PairTotal: ("attack__digest", "defence__digest", "tournament__sample_set__name", "played", "labelled", "correct"),
    Benchmark: (*_OF_SUBMISSION, "sample_set__name", "round__number", "attack", "goal", "norm", "state", "result",
                "accuracy", "reason"),
    ModelScore: (*_OF_SUBMISSION, "sample_set__name", "knowledge", "goal", "norm", "accuracy", "median_distance"),
}  # fmt: skip
"""The columns of each table that say what happened, not when, where or after how many faults."""


def results() -> dict[str, Counter[str]]:
    """Return the rows of each table, each as a text, with how often it is there."""
    found = {table.__name__: _texts(table, columns) for table, columns in COLUMNS.items()}
    # an attempt that failed has a build of its own, and costs nothing
    found["Build"] = Counter(map(repr, Build.objects.filter(outcome=READY).values_list("submission__tag", "checks")))
    # what two teams need is charged to the one that requests it first
    spent = WorkerTime.objects.order_by().values_list("role").annotate(total=Sum("seconds"))
    found["WorkerTime"] = Counter(map(repr, spent))
    return found


def _texts(table: type[Model], columns: Iterable[str]) -> Counter[str]:
    rows: Any = table._default_manager.order_by().values_list(*columns)
    return Counter(repr(row) for row in rows)


def differences(expected: dict[str, Counter[str]], found: dict[str, Counter[str]]) -> list[str]:
    """Name the rows that are missing, and those that are there too often."""
    lines = []
    for table in expected:
        lines += [f"missing {table}: {row}" for row in (expected[table] - found[table]).elements()]
        lines += [f"additional {table}: {row}" for row in (found[table] - expected[table]).elements()]
    return lines
