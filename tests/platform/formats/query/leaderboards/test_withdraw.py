"""Withdrawing a submission while it is evaluated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from accounts.models import User
from competitions.models import Entry
from core.models import Event
from formats.query.leaderboards import services, tasks
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.rejudging import begin_rejudging, publish_rejudging
from formats.query.leaderboards.scoring import score_finished
from formats.query.leaderboards.withdrawn_evaluations import end_withdrawn
from formats.query.matches.models import Match, Piece
from formats.query.matches.selectors import OPEN_PIECES
from submissions.models import QuotaSlot, Submission
from submissions.services import withdraw

if TYPE_CHECKING:
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture

PAIRS = 4


@pytest.fixture
def playing(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> Evaluation:
    """A model of Alice with two matches to play."""
    return begun(env.submission(entry, "model", alice))


def begun(submission: Submission) -> Evaluation:
    evaluation = services.evaluate(submission)
    assert evaluation is not None
    return evaluation


def copy_of(submission: Submission, entry: Entry, env: BoardFixture, by: User) -> Submission:
    """A submission with the same content, and so the same player."""
    copy = env.submission(entry, "model", by)
    copy.player = submission.player
    copy.save()
    return copy


def match_states() -> list[str]:
    return list(Match.objects.order_by("pk").values_list("state", flat=True))


def test_a_withdrawal_voids_the_evaluation_and_cancels_its_matches_and_pieces(
    env: BoardFixture, playing: Evaluation, alice: User
) -> None:
    withdraw(submission=playing.submission, by=alice)
    tasks.score(track=env.tracks["model"].pk)
    playing.refresh_from_db()
    assert (playing.state, playing.reason, playing.value) == ("void", "withdrawn", None)
    assert playing.finished_at is not None
    assert match_states() == ["cancelled", "cancelled"]
    assert not Piece.objects.filter(OPEN_PIECES).exists()
    assert Event.objects.get(subject=f"evaluation:{playing.pk}").reason == "withdrawn"
    assert QuotaSlot.objects.get(submission=playing.submission).state == "used"


def test_the_sweep_finds_it_without_a_notification(playing: Evaluation, alice: User) -> None:
    withdraw(submission=playing.submission, by=alice)
    tasks.sweep()
    tasks.sweep()
    assert match_states() == ["cancelled", "cancelled"]
    assert Event.objects.filter(subject=f"evaluation:{playing.pk}").count() == 1


def test_finished_matches_give_no_score(env: BoardFixture, playing: Evaluation, alice: User) -> None:
    for match in playing.matches.all():
        env.play(match, [1.0] * 6)
    withdraw(submission=playing.submission, by=alice)
    assert score_finished() == 0
    tasks.score()
    playing.refresh_from_db()
    assert (playing.state, playing.reason, playing.value) == ("void", "withdrawn", None)
    assert match_states() == ["played", "played"]


def test_what_another_evaluation_needs_continues_to_play(
    env: BoardFixture, playing: Evaluation, alice: User, bob: User
) -> None:
    shared = begun(copy_of(playing.submission, env.entry("doves"), env, bob))
    withdraw(submission=playing.submission, by=alice)
    tasks.score()
    assert match_states() == ["waiting", "waiting"]
    for match in shared.matches.all():
        env.play(match, [2.0] * 6)
    tasks.score()
    shared.refresh_from_db()
    assert (shared.state, shared.value) == ("scored", 2.0)


def test_a_match_needed_later_is_reactivated(env: BoardFixture, playing: Evaluation, alice: User) -> None:
    withdraw(submission=playing.submission, by=alice)
    tasks.score()
    later = begun(copy_of(playing.submission, playing.submission.repository.entry, env, alice))
    assert set(later.matches.all()) == set(playing.matches.all())
    assert match_states() == ["waiting", "waiting"]
    for match in later.matches.all():
        env.play(match, [2.0] * 6)
    tasks.score()
    playing.refresh_from_db()
    later.refresh_from_db()
    assert (playing.state, later.state) == ("void", "scored")
    assert env.table("model") == [(1, "owls", None)]


def test_a_score_from_before_is_kept(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> None:
    scored = env.score(env.submission(entry, "model", alice), 3.0)
    withdraw(submission=scored.submission, by=alice)
    tasks.score(track=env.tracks["model"].pk)
    scored.refresh_from_db()
    assert (scored.state, scored.value) == ("scored", 3.0)
    assert env.table("model") == []


def test_a_rejudging_continues_without_it(
    env: BoardFixture, entry: Entry, alice: User, olga: User, attack_pool: Pool
) -> None:
    gone = env.score(env.submission(entry, "model", alice), 3.0)
    stays = env.score(env.submission(env.entry("doves"), "model", alice), 2.0)
    submissions = [gone.submission, stays.submission]
    rejudging = begin_rejudging(competition=env.competition, submissions=submissions, reason="a faulty host", by=olga)
    withdraw(submission=gone.submission, by=alice)
    tasks.score(track=env.tracks["model"].pk)
    assert match_states() == ["played"] * 4 + ["cancelled"] * 2 + ["waiting"] * 2
    for match in Match.objects.filter(repetition=rejudging.pk, state=Match.State.WAITING):
        env.play(match, [4.0] * 6)
    tasks.score()
    rejudging.refresh_from_db()
    publish_rejudging(rejudging=rejudging, by=olga, reason="it is correct")
    assert env.table("model") == [(1, "doves", None)]


@pytest.mark.django_db(transaction=True)
def test_a_concurrent_score_and_withdrawal_are_serialised(
    env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool
) -> None:
    """A score that is written after its submission was withdrawn would have a later time."""
    evaluations = [begun(env.submission(entry, "model", alice)) for _ in range(PAIRS)]
    for match in Match.objects.all():
        env.play(match, [1.0] * 6)

    def act(evaluation: Evaluation | None) -> None:
        try:
            if evaluation is None:
                tasks.score(track=env.tracks["model"].pk)
            else:
                withdraw(submission=evaluation.submission, by=alice)
        finally:
            connection.close()

    with ThreadPoolExecutor(2 * PAIRS) as threads:
        list(threads.map(act, [act for evaluation in evaluations for act in (None, evaluation)]))
    tasks.score(track=env.tracks["model"].pk)
    for evaluation in Evaluation.objects.select_related("submission"):
        withdrawn_at = evaluation.submission.state_since
        assert evaluation.finished_at is not None
        if evaluation.state == Evaluation.State.SCORED:
            assert evaluation.finished_at <= withdrawn_at
        else:
            assert (evaluation.state, evaluation.reason) == ("void", "withdrawn")
    assert env.table("model") == []


@pytest.mark.django_db(transaction=True)
def test_matches_that_a_concurrent_evaluation_needs_are_played(
    env: BoardFixture, entry: Entry, alice: User, bob: User, attack_pool: Pool
) -> None:
    evaluations = [begun(env.submission(entry, "model", alice)) for _ in range(PAIRS)]
    doves = env.entry("doves")
    copies = [copy_of(evaluation.submission, doves, env, bob) for evaluation in evaluations]
    for evaluation in evaluations:
        withdraw(submission=evaluation.submission, by=alice)

    def act(copy: Submission | None) -> None:
        try:
            if copy is None:
                end_withdrawn()
            else:
                services.evaluate(copy)
        finally:
            connection.close()

    with ThreadPoolExecutor(2 * PAIRS) as threads:
        list(threads.map(act, [act for copy in copies for act in (copy, None)]))
    end_withdrawn()
    assert match_states() == ["waiting"] * 2 * PAIRS
    assert set(Evaluation.objects.filter(state="playing").values_list("submission", flat=True)) == {
        copy.pk for copy in copies
    }
