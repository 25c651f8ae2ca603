"""Evaluations that ended by a platform error are retried once, and then wait for an organiser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from competitions.models import Entry
from formats.query.leaderboards import services
from formats.query.leaderboards.evaluation_basis import unresolved
from formats.query.leaderboards.models import Evaluation, Pool, Standing
from formats.query.leaderboards.score_visibility import evaluation_of
from formats.query.leaderboards.scoring import score_finished
from formats.query.leaderboards.tasks import sweep
from submissions.models import Submission

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


@pytest.fixture
def failed(env: BoardFixture, the_clock: FakeClock, entry: Entry, alice: User, attack_pool: Pool) -> Evaluation:
    """The Owls' model has a score of 2 on an earlier basis, and a platform error on the current one."""
    owl = env.submission(entry, "model", alice)
    env.score(owl, 2.0)
    env.pool("untargeted", "stronger")
    evaluation = services.evaluate(owl)
    assert evaluation is not None
    fail(env, evaluation)
    return evaluation


def fail(env: BoardFixture, evaluation: Evaluation) -> None:
    for match in evaluation.matches.exclude(state="played"):
        env.end(match, "failed", {})
    score_finished()
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.cause) == ("void", "platform")


def shown(submission: Submission) -> tuple[float | None, int | None]:
    standing = Standing.objects.select_related("evaluation").get(entry=submission.repository.entry)
    return standing.evaluation.value, standing.rank


def test_an_evaluation_that_failed_is_retried_after_a_while_and_scored(
    env: BoardFixture, failed: Evaluation, the_clock: FakeClock
) -> None:
    owl = failed.submission
    assert shown(owl) == (2.0, None)
    sweep()
    assert evaluation_of(owl) == failed, "not immediately: the host may need time"
    the_clock.forward(hours=1)
    sweep()
    again = evaluation_of(owl)
    assert again is not None
    assert (again.state, again.pool) == ("playing", failed.pool)
    env.play(again.matches.get(), [5.0] * 6)
    sweep()
    assert shown(owl) == (5.0, 1)


def test_what_fails_again_waits_for_an_organiser(env: BoardFixture, failed: Evaluation, the_clock: FakeClock) -> None:
    the_clock.forward(hours=1)
    sweep()
    again = evaluation_of(failed.submission)
    assert again is not None
    fail(env, again)
    the_clock.forward(hours=50)
    sweep()
    assert list(unresolved()) == [again]
    assert evaluation_of(failed.submission) == again


def test_superseded_evaluations_are_not_retried(
    env: BoardFixture, failed: Evaluation, the_clock: FakeClock, olga: User
) -> None:
    assert list(unresolved()) == [failed]
    newer = env.submission(failed.submission.repository.entry, "model", failed.submission.submitted_by)
    assert list(unresolved()) == []
    Submission.objects.filter(pk=newer.pk).update(state="withdrawn")
    assert list(unresolved()) == [failed]
    again = services.re_evaluate(submission=failed.submission, by=olga, reason="the host is fixed")
    assert list(unresolved()) == []
    fail(env, again)
    env.pool("untargeted", "other")
    assert list(unresolved()) == [], "measured on the new basis anyway"
