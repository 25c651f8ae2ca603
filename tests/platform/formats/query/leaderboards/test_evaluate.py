"""Starting an evaluation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from accounts.models import User
from competitions.models import Entry
from core import clock
from formats.query.leaderboards import services
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.scoring import score_finished
from formats.query.leaderboards.tasks import evaluate
from formats.query.matches.models import Match, Piece
from submissions.models import Submission

if TYPE_CHECKING:
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


def test_a_submitted_model_meets_every_attack_of_the_pool_in_force(
    env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool
) -> None:
    submission = env.submission(entry, "model", alice)
    evaluation = services.evaluate(submission)
    assert evaluation is not None
    assert (evaluation.state, evaluation.pool, evaluation.sample_set) == ("playing", attack_pool, env.sample_set)
    assert evaluation.rules.version == 1
    matches = list(evaluation.matches.all())
    assert [match.attack.title for match in matches] == ["noise", "boundary"]
    assert {match.model for match in matches} == {submission.player}
    assert Piece.objects.count() == 2 * 3


@pytest.mark.parametrize("kind", ["untargeted", "targeted"])
def test_an_attack_meets_the_models(env: BoardFixture, entry: Entry, alice: User, model_pool: Pool, kind: str) -> None:
    submission = env.submission(entry, kind, alice)
    evaluation = services.evaluate(submission)
    assert evaluation is not None
    matches = list(evaluation.matches.all())
    assert [match.model.title for match in matches] == ["plain", "robust"]
    assert {match.attack for match in matches} == {submission.player}


def test_it_starts_once(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> None:
    submission = env.submission(entry, "model", alice)
    evaluate(submission=submission.pk)
    evaluate(submission=submission.pk)
    assert Evaluation.objects.count() == 1


def test_a_player_that_was_played_is_not_played_again(
    env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool
) -> None:
    first = env.submission(entry, "model", alice)
    env.score(first, 1.0)
    same = env.submission(env.entry("doves"), "model", alice)
    same.player = first.player
    same.save()
    evaluation = services.evaluate(same)
    assert evaluation is not None
    assert Match.objects.count() == 2
    assert score_finished() == 1
    evaluation.refresh_from_db()
    assert evaluation.value == 1.0


def test_a_player_may_meet_itself_in_the_pool(env: BoardFixture, entry: Entry, alice: User, model_pool: Pool) -> None:
    submission = env.submission(entry, "model", alice)
    assert submission.player is not None
    services.set_pool(track=env.tracks["model"], players=[submission.player], reason="round 1")
    attack = env.submission(entry, "untargeted", alice)
    assert attack.player is not None
    services.set_pool(track=env.tracks["untargeted"], players=[attack.player], reason="round 1")
    assert services.evaluate(submission) is not None
    assert services.evaluate(attack) is not None
    assert Match.objects.count() == 1


def test_it_waits_for_a_pool(env: BoardFixture, entry: Entry, alice: User, model_pool: Pool) -> None:
    assert services.evaluate(env.submission(entry, "model", alice)) is None


@pytest.mark.parametrize("state", ["received", "building", "checking", "rejected", "withdrawn"])
def test_it_rejects_a_submission_that_is_not_ready(
    env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool, state: str
) -> None:
    submission = env.submission(entry, "model", alice)
    Submission.objects.filter(pk=submission.pk).update(state=state)
    assert services.evaluate(submission) is None


def test_it_rejects_a_disqualified_submission(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> None:
    submission = env.submission(entry, "model", alice)
    Submission.objects.filter(pk=submission.pk).update(disqualified_at=clock.now())
    assert services.evaluate(submission) is None


@pytest.mark.django_db(transaction=True)
def test_concurrent_calls_start_one(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> None:
    submission = env.submission(entry, "model", alice)

    def begin(_: int) -> bool:
        try:
            return services.evaluate(submission) is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(begin, range(4))) == 1
    assert Evaluation.objects.get().matches.count() == Match.objects.count() == 2
