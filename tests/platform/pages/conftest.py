"""Fixtures of the pages: submissions that are scored, rejected and being built, with logs, and a planned round."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import User
from competitions.models import Competition, Entry, FreezeWindow, RulesVersion, SampleSet, Track
from leaderboards.models import Evaluation, Pool, PoolPlace, Standing
from repositories.models import Repository
from rounds.models import Round
from submissions.models import Build, LogChunk, Player, QuotaSlot, Submission


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
        track_name=Track.Name.UNTARGETED,
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
        per_opponent=[{"player": player.pk, "title": player.title, "median": 1.25, "failures": 2}],
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
    refused = submitted(
        repository,
        bob,
        2,
        Submission.State.REFUSED,
        cause=Submission.Cause.TEAM,
        reason="clean_accuracy",
        problem="the model is right on 2 of 10 samples",
        fix="train it longer",
    )
    logged(refused, 3, finished=True)
    building = submitted(
        repository, bob, 3, Submission.State.BUILDING, deadline=repository.created_at + timedelta(days=99)
    )
    logged(building, 3, finished=False)
    return {"scored": scored, "refused": refused, "building": building}


@pytest.fixture
def planned(competition: Competition, rules: RulesVersion) -> Round:
    """A planned round 1 with a freeze window of 72 hours that starts 51 hours after noon."""
    at, noon = competition.created_at, competition.starts_at + timedelta(days=365)
    window = FreezeWindow.objects.create(
        competition=competition,
        starts_at=noon + timedelta(hours=51),
        ends_at=noon + timedelta(hours=123),
        reason="top-five round 1",
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
        kind=Round.Kind.TOP_FIVE,
        window=window,
        sample_set=drawn,
        salt="the secret salt",
        commitment="c0ffee" * 10,
        planned_at=at,
        state_since=at,
    )
