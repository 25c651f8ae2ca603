"""Starting an evaluation again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from competitions.models import Entry
from core import clock
from core.errors import Refusal
from core.models import Event
from formats.query.leaderboards import services
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.score_visibility import evaluation_of
from formats.query.leaderboards.scoring import score_finished
from formats.query.matches.models import Match, SampleResult
from submissions.models import Submission

if TYPE_CHECKING:
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


@pytest.fixture
def voided(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> Evaluation:
    """Of two matches, the first was played and the second failed."""
    evaluation = services.evaluate(env.submission(entry, "model", alice))
    assert evaluation is not None
    first, second = evaluation.matches.all()
    env.play(first, [1.0] * 6)
    env.end(second, Match.State.FAILED, {})
    score_finished()
    evaluation.refresh_from_db()
    return evaluation


def test_an_evaluation_started_again_replaces_the_void_one_and_plays_nothing_twice(
    env: BoardFixture, voided: Evaluation, olga: User
) -> None:
    played = set(SampleResult.objects.values_list("pk", flat=True))
    again = services.re_evaluate(submission=voided.submission, by=olga, reason="the worker was broken")
    assert set(again.matches.all()) == set(voided.matches.all()), "nothing is played twice"
    assert set(SampleResult.objects.values_list("pk", flat=True)) == played
    waiting = again.matches.get(state=Match.State.WAITING)
    env.play(waiting, [0.5] * 6)
    score_finished()
    voided.refresh_from_db()
    assert voided.state == "void"
    newest = evaluation_of(voided.submission)
    assert newest == again
    assert newest is not None
    assert (newest.state, newest.value) == ("scored", 0.5)
    event = Event.objects.get(verb="re-evaluate")
    assert (event.subject, event.by, event.reason) == (
        f"submission:{voided.submission_id}",
        olga,
        "the worker was broken",
    )


def test_it_meets_the_pool_in_force(env: BoardFixture, voided: Evaluation, olga: User) -> None:
    pool = env.pool("untargeted", "stronger")
    again = services.re_evaluate(submission=voided.submission, by=olga, reason="a new pool")
    assert again.pool == pool
    assert [match.attack.title for match in again.matches.all()] == ["stronger"]


def test_it_rejects_anyone_but_organisers(voided: Evaluation, alice: User) -> None:
    with pytest.raises(Refusal, match="only organisers"):
        services.re_evaluate(submission=voided.submission, by=alice, reason="please")
    assert Evaluation.objects.count() == 1


def test_it_rejects_one_that_is_being_evaluated(voided: Evaluation, olga: User) -> None:
    services.re_evaluate(submission=voided.submission, by=olga, reason="once")
    with pytest.raises(Refusal, match="is being evaluated"):
        services.re_evaluate(submission=voided.submission, by=olga, reason="twice")


def test_it_rejects_one_that_does_not_count(voided: Evaluation, olga: User) -> None:
    Submission.objects.update(disqualified_at=clock.now())
    with pytest.raises(Refusal, match="not ready, or disqualified"):
        services.re_evaluate(submission=voided.submission, by=olga, reason="again")
