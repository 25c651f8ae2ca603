"""From finished matches to a score or a void evaluation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from accounts.models import User
from competitions.models import Entry
from core import clock
from core.models import Event
from formats.query.leaderboards import services
from formats.query.leaderboards.evaluation_basis import unevaluated
from formats.query.leaderboards.models import Evaluation, Pool, Standing
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.leaderboards.scoring import score_finished
from formats.query.leaderboards.tasks import refresh_boards, score
from formats.query.matches.models import Match, SampleResult
from submissions.models import QuotaSlot, Submission

if TYPE_CHECKING:
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture

FICKLE = {"replayed": 20, "changed": 7, "judged": 6, "denied": 0, "fresh": 6, "fresh_changed": 0, "passed": False}
STATEFUL = {"replayed": 20, "fresh_due": 32, "fresh": 32, "fresh_changed": 30, "passed": False, "stateful": True}
RISING = [1, 2, 3, 4, 5, 6]
"""Median 3.5."""
MIXED = [2, 2, 2, -1, 0, 7]
"""With -1 as the worst case of 9: 0 2 2 2 7 9, median 2."""


@pytest.fixture
def model(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> Evaluation:
    """The Owls' model, in evaluation against two attacks."""
    evaluation = services.evaluate(env.submission(entry, "model", alice))
    assert evaluation is not None
    return evaluation


@pytest.fixture
def attack(env: BoardFixture, entry: Entry, alice: User, model_pool: Pool) -> Evaluation:
    """The Owls' untargeted attack, in evaluation against two models."""
    evaluation = services.evaluate(env.submission(entry, "untargeted", alice))
    assert evaluation is not None
    return evaluation


def play_both(env: BoardFixture, evaluation: Evaluation) -> None:
    first, second = evaluation.matches.all()
    env.play(second, MIXED, seconds=0.3, queries=20)
    assert score_finished() == 0, "one match is still to be played"
    env.play(first, RISING, seconds=0.1, queries=10)


def test_the_score_of_a_model_is_the_median_of_its_smallest_distances(env: BoardFixture, model: Evaluation) -> None:
    play_both(env, model)
    assert score_finished() == 1
    model.refresh_from_db()
    # the smaller distance of both attacks: 1 2 2 4 0 6, in order 0 1 2 2 4 6
    assert (model.state, model.value, model.samples, model.failures) == ("scored", 2.0, 6, 1)
    noise, boundary = (place.player for place in model.pool.places.all())
    assert model.per_opponent == [
        {"player": noise.pk, "median": 3.5, "failures": 0},
        {"player": boundary.pk, "median": 2.0, "failures": 1},
    ]
    assert model.worst_opponent == boundary
    assert model.median_seconds == pytest.approx(0.2)
    assert model.mean_queries == 15.0
    assert model.low is not None
    assert model.high is not None
    assert 0.0 <= model.low <= 2.0 <= model.high <= 6.0
    assert env.table("model") == [(1, "owls", None)]


def test_a_model_shows_held_and_clean_wrong_samples(env: BoardFixture, model: Evaluation) -> None:
    first, second = model.matches.all()
    # the fifth sample is misclassified in one match only: the model failed in it
    env.play(first, [-1, -1, 0, 0, 5, 6])
    env.play(second, [-1, 2, 0, 0, 0, -1])
    score_finished()
    model.refresh_from_db()
    assert (model.held, model.clean_wrong, model.clean_accuracy, model.met) == (1, 2, 1 - 2 / 6, 2)
    assert not model.not_broken
    assert (model.failures, model.tries) == (4, 12)


def test_an_attack_is_scored_over_all_samples_and_models(env: BoardFixture, attack: Evaluation) -> None:
    play_both(env, attack)
    score_finished()
    attack.refresh_from_db()
    # all twelve in order: 0 1 2 2 2 2 3 4 5 6 7 9
    assert (attack.value, attack.failures) == (2.5, 1)
    assert (attack.met, attack.value_all, attack.held, attack.clean_wrong) == (2, None, None, None)
    assert attack.worst_opponent is not None
    assert attack.worst_opponent.title == "plain", "the larger median is the worse for an attack"
    assert [row["median"] for row in attack.per_opponent] == [3.5, 2.0]


def test_it_scores_once(env: BoardFixture, model: Evaluation) -> None:
    play_both(env, model)
    score()
    model.refresh_from_db()
    score()
    again = Evaluation.objects.get(pk=model.pk)
    assert (again.finished_at, again.value) == (model.finished_at, model.value)


def test_a_failed_match_voids_the_evaluation_and_refunds_the_slot(env: BoardFixture, model: Evaluation) -> None:
    first, second = model.matches.all()
    env.play(first, RISING)
    env.end(second, Match.State.FAILED, {})
    score_finished()
    model.refresh_from_db()
    assert (model.state, model.cause, model.reason, model.value) == ("void", "platform", "fault", None)
    assert f"A platform error occurred in match {second.pk}." in model.problem
    slot = QuotaSlot.objects.get(submission=model.submission)
    assert (slot.state, slot.reason) == ("refunded", "fault")
    assert Event.objects.get(subject=f"evaluation:{model.pk}").data["cause"] == "platform"
    assert env.table("model") == []


def test_one_that_cannot_be_read_does_not_stop_others(
    env: BoardFixture, model: Evaluation, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    play_both(env, model)
    Match.objects.update(audit=[])
    other = services.evaluate(env.submission(env.entry("doves"), "model", alice))
    assert other is not None
    for match in other.matches.all():
        env.play(match, RISING)
    assert score_finished() == 1
    assert env.table("model") == [(1, "doves", None)]
    assert f"{model} cannot be ended" in caplog.text


def test_a_lost_notification_leaves_no_outdated_board(env: BoardFixture, model: Evaluation) -> None:
    play_both(env, model)
    score_finished()
    Submission.objects.update(disqualified_at=clock.now())
    score_finished()
    assert env.table("model") != []
    refresh_boards()
    assert env.table("model") == []


def test_missing_rows_are_a_platform_error(env: BoardFixture, model: Evaluation) -> None:
    play_both(env, model)
    SampleResult.objects.filter(sample=5).delete()
    score_finished()
    model.refresh_from_db()
    assert (model.state, model.cause, model.reason) == ("void", "platform", "fault")
    assert "the match against opponent 1 of the pool lacks some of its 6 samples" in model.problem


def test_a_model_that_is_inconsistent_voids_its_own_evaluation(env: BoardFixture, model: Evaluation) -> None:
    play_both(env, model)
    stateful = model.matches.all()[0].pk
    Match.objects.filter(pk=stateful).update(audit=STATEFUL)
    score_finished()
    model.refresh_from_db()
    assert (model.state, model.cause, model.reason) == ("void", "team", "inconsistent")
    assert f"In 1 of 2 matches, first in match {stateful}: 0 of 20 replayed images got another label" in model.problem
    assert QuotaSlot.objects.get(submission=model.submission).state == "used"


def test_one_attack_cannot_have_a_model_voided_with_images_that_rounding_decides(
    env: BoardFixture, model: Evaluation
) -> None:
    play_both(env, model)
    match = model.matches.all()[0]
    Match.objects.filter(pk=match.pk).update(audit=FICKLE)
    score_finished()
    model.refresh_from_db()
    assert model.state == "scored"
    assert Event.objects.get(verb="inconsistent").subject == f"match:{match.pk}"


def test_the_only_attack_of_a_pool_cannot_have_a_model_voided(env: BoardFixture, entry: Entry, alice: User) -> None:
    env.pool("untargeted", "alone")
    found = services.evaluate(env.submission(entry, "model", alice))
    assert found is not None
    env.play(found.matches.get(), RISING)
    found.matches.update(audit=FICKLE)
    score_finished()
    found.refresh_from_db()
    assert found.state == "scored"
    assert Event.objects.get(verb="inconsistent").subject == f"match:{found.matches.get().pk}"


def test_a_model_whose_labels_depend_on_the_batch_in_most_matches_is_void(env: BoardFixture, model: Evaluation) -> None:
    play_both(env, model)
    model.matches.update(audit=FICKLE)
    score_finished()
    model.refresh_from_db()
    assert (model.state, model.cause, model.reason) == ("void", "team", "inconsistent")


def test_an_open_audit_makes_no_score(env: BoardFixture, model: Evaluation) -> None:
    play_both(env, model)
    Match.objects.filter(pk=model.matches.all()[0].pk).update(audit={"fresh_due": 9, "passed": True, "open": True})
    score_finished()
    model.refresh_from_db()
    assert (model.state, model.cause) == ("void", "platform")
    assert "was not completed" in model.problem


def test_a_model_found_inconsistent_later_leaves_the_board(
    env: BoardFixture, entry: Entry, alice: User, olga: User, attack_pool: Pool
) -> None:
    before, best = (env.submission(entry, "model", alice) for _ in range(2))
    env.score(before, 1.0)
    env.score(best, 9.0)
    assert Standing.objects.get().evaluation.submission == best
    env.pool("untargeted", "stronger")
    found = services.evaluate(best)
    assert found is not None
    env.end(found.matches.get(), Match.State.PLAYED, STATEFUL)
    score()
    assert Standing.objects.get().evaluation.submission == before
    assert list(unevaluated()) == [before], "it is what counts now"
    assert verify_boards().differences == ()
    env.play(found.matches.get(), [8.0] * 6)
    services.re_evaluate(submission=best, by=olga, reason="the audit was wrong")
    score()
    assert Standing.objects.get().evaluation.value == 8.0


def test_an_inconsistent_model_of_the_pool_is_reported_and_the_rows_count(
    env: BoardFixture, attack: Evaluation
) -> None:
    play_both(env, attack)
    match = attack.matches.all()[0]
    Match.objects.filter(pk=match.pk).update(audit=FICKLE)
    score_finished()
    attack.refresh_from_db()
    assert (attack.state, attack.value) == ("scored", 2.5)
    assert Event.objects.get(verb="inconsistent").subject == f"match:{match.pk}"


def test_a_withdrawn_or_disqualified_submission_leaves_its_place_to_the_one_before(
    env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool
) -> None:
    doves = env.entry("doves")
    env.score(env.submission(entry, "model", alice), 2.0)
    env.score(env.submission(doves, "model", alice), 3.0)
    best = env.submission(entry, "model", alice)
    env.score(best, 4.0)
    assert [row[1] for row in env.table("model")] == ["owls", "doves"]
    Submission.objects.filter(pk=best.pk).update(disqualified_at=clock.now())
    score(track=env.tracks["model"].pk)
    assert [row[1] for row in env.table("model")] == ["doves", "owls"]
    Submission.objects.filter(pk=best.pk).update(disqualified_at=None)
    score(track=env.tracks["model"].pk)
    assert [row[1] for row in env.table("model")] == ["owls", "doves"]
    Submission.objects.filter(repository__entry=doves).update(state="withdrawn")
    score(track=env.tracks["model"].pk)
    assert [row[1] for row in env.table("model")] == ["owls"]


@pytest.mark.django_db(transaction=True)
def test_concurrent_calls_give_one_result(env: BoardFixture, model: Evaluation) -> None:
    play_both(env, model)
    env.end(model.matches.all()[0], Match.State.FAILED, {})

    def work(_: int) -> int:
        try:
            return score_finished()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(work, range(4))) == 1
    assert Event.objects.filter(verb="void").count() == 1
    assert Standing.objects.count() == 0
