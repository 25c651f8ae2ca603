"""API clients, a commit to submit, and a submission with a score."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from rest_framework.test import APIClient

from accounts.models import AccessToken, Invitation, User
from accounts.services import issue_token
from competitions.models import Competition, FreezeWindow, RulesVersion, SampleSet, Track
from formats.query.challenges.models import Challenge
from formats.query.leaderboards.models import Evaluation, Pool, Standing
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.rounds.models import RoundWarning
from repositories.models import Repository
from repositories.services import repository_of
from rounds.models import Round, RoundEntry
from submissions.models import Player, Submission
from webhooks.models import Webhook

MANIFEST = '[submission]\ntrack = "model"\nrun = "python main.py"\ntitle = "Wise owl"\nlicence = "MIT"\n'

Program = Callable[..., APIClient]


@pytest.fixture(autouse=True)
def _nothing_counted() -> None:
    """Reset the rate limits before each test."""
    cache.clear()


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no limit of requests: without an account, it is below the number of operations."""
    monkeypatch.setattr("rest_framework.views.APIView.throttle_classes", [])


@pytest.fixture
def program(db: None) -> Program:
    """Factory of API clients with a token of `user` and `scopes`; anonymous without a user."""

    def start(user: User | None = None, *scopes: str) -> APIClient:
        client = APIClient()
        if user is not None:
            _, plain = issue_token(user=user, name="program", scopes=scopes or AccessToken.Scope.values, days=30)
            client.credentials(HTTP_AUTHORIZATION=f"Bearer {plain}")
        return client

    return start


@pytest.fixture
def commit(repositories: dict[str, Repository], tmp_path: Path, the_clock: Any, rules: RulesVersion) -> str:
    """A commit in the Owls' model repository that is a good submission."""
    repository = repositories["model"]
    repository_of(entry=repository.entry, track=repository.track)
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "submission.toml").write_text(MANIFEST)
    (folder / "main.py").write_text("print('plays')\n")
    for words in (
        ["init", "--quiet"],
        ["add", "--all"],
        ["-c", "user.name=Alice", "-c", "user.email=alice@example.org", "commit", "--quiet", "--message=First"],
        ["push", "--quiet", str(repository.path), "HEAD:refs/heads/main"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env=os.environ)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def scored(
    repositories: dict[str, Repository],
    tracks: dict[str, Track],
    rules: RulesVersion,
    sample_sets: dict[str, SampleSet],
    alice: User,
) -> Submission:
    """A scored submission of the Owls on the leaderboard."""
    repository, at = repositories["model"], rules.created_at
    player = Player.objects.create(
        competition=rules.competition,
        track_name="model",
        digest="sha256:1",
        title="Wise owl",
        command=["python"],
        repository=repository,
        created_at=at,
    )
    submission = Submission.objects.create(
        repository=repository,
        commit="1" * 40,
        tag="submission-1",
        submitted_by=alice,
        received_at=at,
        title="Wise owl",
        licence="MIT",
        state="ready",
        state_since=at,
        player=player,
    )
    evaluation = Evaluation.objects.create(
        submission=submission,
        pool=Pool.objects.create(track=tracks["untargeted"], number=1, made_at=at, reason="the first"),
        sample_set=sample_sets["validation"],
        rules=rules,
        state="scored",
        created_at=at,
        finished_at=at,
        value=0.5,
        low=0.4,
        high=0.6,
        samples=6,
        failures=0,
        worst_opponent=player,
        median_seconds=0.1,
    )
    Standing.objects.create(track=repository.track, entry=repository.entry, evaluation=evaluation, rank=1)
    return submission


@pytest.fixture
def played(scored: Submission, sample_sets: dict[str, SampleSet], competition: Competition) -> Round:
    """A round won by the Owls' model, not published yet."""
    at, player = competition.created_at, Player.objects.get(track_name="model")
    made = Round.objects.create(
        competition=competition,
        number=1,
        title="Round 1",
        kind=Round.Kind.FINAL,
        window=FreezeWindow.objects.create(
            competition=competition, starts_at=at, ends_at=at + timedelta(days=3), reason="the final"
        ),
        sample_set=sample_sets["validation"],
        salt="the secret salt",
        commitment="c0ffee" * 10,
        planned_at=at,
        state_since=at,
        state=Round.State.SCORED,
        outcome="0dd" * 21,
    )
    score = {"place": 1, "stage": 1, "value": 0.5, "low": 0.4, "high": 0.6, "failures": 0, "worst_opponent": player}
    RoundEntry.objects.create(
        round=made,
        track=scored.repository.track,
        submission=scored,
        player=player,
        order=1,
        prior=1,
        eligible=False,
        ineligible_because="its licence is not open source",
        **score,
    )
    RoundWarning.objects.create(round=made, model=player, attack=player, nearer=5, samples=8, median=0.25)
    return made


@pytest.fixture
def match(scored: Submission) -> Match:
    """The match behind the score: an attack found an adversarial of one of two samples, which are secret."""
    evaluation, model = Evaluation.objects.get(), Player.objects.get(track_name="model")
    attack = Player.objects.create(
        competition=model.competition, track_name="untargeted", digest="sha256:2", title="Boundary attack",
        command=["python"], baseline="boundary", created_at=model.created_at,
    )  # fmt: skip
    made = Match.objects.create(
        rules=evaluation.rules, sample_set=evaluation.sample_set, model=model, attack=attack, seed=987654321,
        state=Match.State.PLAYED, created_at=model.created_at, finished_at=model.created_at,
    )  # fmt: skip
    Submission.objects.filter(pk=scored.pk).update(player=model)
    evaluation.matches.add(made)
    piece = Piece.objects.create(match=made, number=0, first=0, count=2, state=Piece.State.PLAYED)
    SampleResult.objects.bulk_create(
        SampleResult(
            match=made, piece=piece, sample=number, outcome=outcome, distance=distance, worst_case=30.0, queries=50,
            seconds=0.25, reason=reason,
        )
        for number, (outcome, distance, reason) in enumerate([("adversarial", 1.25, ""), ("failed", 30.0, "limit")])
    )  # fmt: skip
    return made


@pytest.fixture
def of_the_team(scored: Submission, alice: User, bob: User) -> dict[str, Any]:
    """An open invitation of the Owls to a person without an account, a member, and a webhook with a delivery."""
    entry, at = scored.repository.entry, scored.received_at
    invitation = Invitation.objects.create(
        team=entry.team, username="dora", invited_by=alice, made_at=at, expires_at=at + timedelta(days=14)
    )
    webhook = Webhook.objects.create(
        competition=entry.competition, team=entry.team, address="https://hooks.example/x", events=["round.frozen"],
        nonce="n", made_at=at, made_by=alice, disabled_at=at,
    )  # fmt: skip
    delivery = webhook.deliveries.create(key=uuid.uuid4(), event="test", at=at, body="{}", state="delivered")
    return {"invitation": invitation.pk, "username": bob.username, "webhook": webhook.pk, "delivery": delivery.pk}


@pytest.fixture
def challenged(scored: Submission, rules: RulesVersion, sample_sets: dict[str, SampleSet], alice: User) -> Challenge:
    """A challenge of the scored submission that waits."""
    Track.objects.filter(name="untargeted").update(baselines=["gaussian-noise", "salt-and-pepper"])
    return Challenge.objects.create(
        submission=scored, by=alice, requested_at=rules.created_at, opponent_track="untargeted",
        baseline="salt-and-pepper", rules=rules, sample_set=sample_sets["development"], samples=2, seed=1,
        entry=scored.repository.entry,
    )  # fmt: skip
