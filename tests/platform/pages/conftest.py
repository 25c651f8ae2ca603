"""Fixtures of the pages: submissions that are scored, rejected and being built, with logs, and a planned round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.http import HttpResponse

from accounts.models import User
from competitions.models import Competition, Entry, FreezeWindow, RulesVersion, SampleSet, Track
from competitions.sample_store import keep_samples, samples_of
from core import object_store
from evaluation.domain.failure_reasons import Reason
from evaluation.formats.query.results import Outcome, PieceResult, RefereedSample, Trace
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.piece_file import pack
from formats.query.leaderboards.models import Evaluation, Pool, PoolPlace, Standing
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_result import sum_audits
from formats.query.tracks import MODEL, UNTARGETED
from repositories.models import Repository
from rounds.models import Round
from submissions.models import Build, LogChunk, Player, QuotaSlot, Submission


@pytest.fixture
def empty_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors have no pages, for time: those are for `test_errors.py`."""

    def empty(status: int) -> Callable[..., HttpResponse]:
        return lambda request, *about, **more: HttpResponse(status=status)

    monkeypatch.setattr("config.urls.handler403", empty(403), raising=False)
    monkeypatch.setattr("config.urls.handler404", empty(404))
    monkeypatch.setattr("pages.site.error_views.render", empty(405))


@pytest.fixture
def sample_set(rules: RulesVersion) -> SampleSet:
    """A secret sample set without samples."""
    return SampleSet.objects.create(
        competition=rules.competition,
        name="validation",
        purpose=SampleSet.Purpose.VALIDATION,
        source="digits",
        split="validation",
        count=6,
        target_seed=7,
        digest="0" * 64,
        imported_at=rules.created_at,
    )


@pytest.fixture
def pool(tracks: dict[str, Track], rules: RulesVersion) -> Pool:
    """A pool of one untargeted attack."""
    made = Pool.objects.create(track=tracks["untargeted"], number=1, made_at=rules.created_at, reason="The first one.")
    player = Player.objects.create(
        competition=rules.competition,
        track_name=UNTARGETED,
        digest="sha256:" + "a" * 64,
        title="Boundary attack",
        command=["run"],
        baseline="boundary",
        created_at=rules.created_at,
    )
    PoolPlace.objects.create(pool=made, place=1, player=player)
    return made


def submitted(repository: Repository, by: User, number: int, state: str, **values: Any) -> Submission:
    """Create a submission as the push gate does."""
    at = repository.created_at + timedelta(days=number)
    commit = f"{number:040x}"
    fields: dict[str, Any] = {
        "commit": commit,
        "tag": f"submission-{number}",
        "submitted_by": by,
        "received_at": at,
        "licence": "MIT",
    }
    fields |= {"title": f"Owl {number}", "state": state, "state_since": at} | values
    made = Submission.objects.create(repository=repository, **fields)
    QuotaSlot.objects.create(
        repository=repository,
        commit=commit,
        tag=made.tag,
        reserved_by=by,
        reserved_at=at,
        state=QuotaSlot.State.USED,
        submission=made,
    )
    return made


def evaluated(submission: Submission, pool: Pool, sample_set: SampleSet, rules: RulesVersion) -> Evaluation:
    """Create an evaluation with the score 1.25."""
    player = pool.players.get()
    return Evaluation.objects.create(
        submission=submission,
        pool=pool,
        sample_set=sample_set,
        rules=rules,
        state=Evaluation.State.SCORED,
        created_at=submission.received_at,
        finished_at=submission.received_at,
        value=1.25,
        low=1.125,
        high=1.5,
        samples=6,
        failures=2,
        worst_opponent=player,
        per_opponent=[{"player": player.pk, "median": 1.25, "failures": 2}],
        median_seconds=3.5,
        mean_queries=40.0,
    )


def logged(submission: Submission, lines: int, *, finished: bool) -> Build:
    """Create a build with a log of this many lines, the last one from the smoke test."""
    at = submission.received_at
    build = Build.objects.create(
        submission=submission,
        attempt=1,
        worker="w",
        started_at=at,
        checks_began_at=at,
        finished_at=at if finished else None,
        checks=[{"name": "starts in time", "passed": True, "seen": "2 s"}],
    )
    text = [f"printed {number}" for number in range(1, lines + 1)]
    if lines > 1:
        LogChunk.objects.create(
            build=build, stage="build", first_line=1, lines=lines - 1, text="\n".join(text[:-1]), at=at
        )
    LogChunk.objects.create(build=build, stage="smoke", first_line=lines, lines=1, text=text[-1], at=at)
    return build


@pytest.fixture
def shown(
    repositories: dict[str, Repository],
    entry: Entry,
    bob: User,
    pool: Pool,
    sample_set: SampleSet,
    rules: RulesVersion,
) -> dict[str, Submission]:
    """Bob's submissions to the model track, by state; the scored one is on the leaderboard."""
    repository = repositories["model"]
    scored = submitted(repository, bob, 1, Submission.State.READY)
    evaluation = evaluated(scored, pool, sample_set, rules)
    Standing.objects.create(track=repository.track, entry=entry, evaluation=evaluation, rank=1)
    rejected = submitted(
        repository,
        bob,
        2,
        Submission.State.REJECTED,
        cause=Submission.Cause.TEAM,
        reason="clean_accuracy",
        problem="the model is right on 2 of 10 samples",
        fix="train it longer",
    )
    logged(rejected, 3, finished=True)
    building = submitted(
        repository, bob, 3, Submission.State.BUILDING, deadline=repository.created_at + timedelta(days=99)
    )
    logged(building, 3, finished=False)
    return {"scored": scored, "rejected": rejected, "building": building}


OUTCOMES = (
    # outcome, distance, queries, reason: the last adversarial is not confirmed, so its sample failed
    ("clean_wrong", 0.0, 0, "misclassified"),
    ("adversarial", 1.0, 50, ""),
    ("adversarial", 1.5, 50, ""),
    ("adversarial", 2.5, 40, ""),
    ("failed", 30.0, 50, "no_adversarial"),
    ("failed", 30.0, 50, "not_confirmed"),
)
"""The samples of the match of `played_match`."""


@pytest.fixture
def played_match(shown: dict[str, Submission], pool: Pool, sample_set: SampleSet, rules: RulesVersion) -> Match:
    """The match that the score of the scored submission is made of: six samples in three pieces, with their traces."""
    evaluation = Evaluation.objects.get()
    sample_set.digest, names = keep_samples(
        source="digits", split="validation", count=6, target_seed=7, rules=rules.rules_as(QueryRules)
    )
    sample_set.class_names = list(names)
    sample_set.save()
    scored, attack = shown["scored"], pool.players.get()
    model = Player.objects.create(
        competition=rules.competition, track_name=MODEL, digest="sha256:" + "b" * 64, title=scored.title,
        command=["run"], repository=scored.repository, commit=scored.commit, created_at=rules.created_at,
    )  # fmt: skip
    Submission.objects.filter(pk=scored.pk).update(player=model)
    match = Match.objects.create(
        rules=rules, sample_set=sample_set, model=model, attack=attack, seed=987654321, state=Match.State.PLAYED,
        created_at=rules.created_at, finished_at=rules.created_at, audit=sum_audits([{"replayed": 20, "judged": 4}]),
    )  # fmt: skip
    evaluation.matches.add(match)
    for first in range(0, 6, 2):
        play_piece(match, first, OUTCOMES[first : first + 2])
    return match


def play_piece(match: Match, first: int, outcomes: Sequence[tuple[str, float, int, str]]) -> None:
    """Create a played piece. Each sample's adversarials fall from 20 to its distance, at queries 10, 20, 30 and 40."""
    samples = samples_of(match.sample_set)
    rows, queries = [], []
    for number, (outcome, distance, count, reason) in enumerate(outcomes, start=first):
        label = samples[number].label
        rows.append(
            RefereedSample(
                number, label, None, Outcome(outcome), distance, 30.0, count, 0.25,
                Reason(reason) if reason else None, (label + 1) % 10 if outcome == "adversarial" else None,
            )
        )  # fmt: skip
        for query in range(1, count + 1):
            found = outcome == "adversarial" and query % 10 == 0 and query <= 40
            at = 20 - (20 - distance) * query / 40
            queries.append((number, number, query, (label + 1) % 10 if found else label, at))
    columns = list(zip(*queries, strict=True)) or [()] * 5
    types = (np.uint16, np.uint16, np.uint32, np.int16, np.float32)
    trace = Trace(*(np.array(column, kind) for column, kind in zip(columns, types, strict=True)))
    images = np.stack([samples[row.sample].image ^ 1 for row in rows])
    piece = Piece.objects.create(
        match=match, number=first, first=first, count=len(rows), state=Piece.State.PLAYED,
        artefact=object_store.put(pack(PieceResult(tuple(rows), images, trace, seconds=1.0))),
    )  # fmt: skip
    SampleResult.objects.bulk_create(
        SampleResult(
            match=match, piece=piece, sample=row.sample, outcome=row.outcome, distance=row.distance,
            worst_case=row.worst_case, queries=row.queries, seconds=row.seconds, reason=row.reason or "",
            found_label=row.found_label,
        )
        for row in rows
    )  # fmt: skip


@pytest.fixture
def planned(competition: Competition, rules: RulesVersion) -> Round:
    """A planned round 1 with a freeze window of 72 hours that starts 51 hours after noon."""
    at, noon = competition.created_at, competition.starts_at + timedelta(days=365)
    window = FreezeWindow.objects.create(
        competition=competition,
        starts_at=noon + timedelta(hours=51),
        ends_at=noon + timedelta(hours=123),
        reason="development round 1",
    )
    drawn = SampleSet.objects.create(
        competition=competition,
        name="round-1",
        purpose=SampleSet.Purpose.TEST,
        source="digits",
        split="test",
        count=200,
        target_seed=7,
        digest="1" * 64,
        imported_at=at,
    )
    return Round.objects.create(
        competition=competition,
        number=1,
        title="Round 1",
        kind=Round.Kind.DEVELOPMENT,
        window=window,
        sample_set=drawn,
        salt="the secret salt",
        commitment="c0ffee" * 10,
        planned_at=at,
        state_since=at,
    )
