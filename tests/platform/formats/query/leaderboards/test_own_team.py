"""Pairs of one team: they count in the model's score and not in the attack's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import Entry
from core.errors import Refusal
from formats.query.leaderboards import services
from formats.query.leaderboards.evaluation_basis import unevaluated
from formats.query.leaderboards.models import Evaluation, Resamples
from formats.query.leaderboards.rejudging import begin_rejudging, publish_rejudging, replay_rejudging
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.leaderboards.score_visibility import board
from formats.query.leaderboards.scoring import score_finished
from formats.query.leaderboards.tasks import sweep
from formats.query.matches.models import Match
from submissions.models import Player, QuotaSlot, Submission

if TYPE_CHECKING:
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture

EASY, HARD = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0], [5.0, 6.0, 6.0, 7.0, 7.0, -1.0]


@pytest.fixture
def own_model(env: BoardFixture, entry: Entry, alice: User) -> Submission:
    """The Owls' model, a member of the pool."""
    return env.submission(entry, "model", alice)


def player_of(submission: Submission) -> Player:
    assert submission.player is not None
    return submission.player


def in_pool(env: BoardFixture, kind: str, *players: Player) -> None:
    services.set_pool(track=env.tracks[kind], players=players, reason="a test")


def played(env: BoardFixture, submission: Submission, distances: dict[str, list[float]]) -> Evaluation:
    """Evaluate a submission; `distances` by the title of the opponent."""
    evaluation = services.evaluate(submission)
    assert evaluation is not None
    is_model = submission.repository.track.name == "model"
    for match in evaluation.matches.select_related("model", "attack"):
        env.play(match, distances[(match.attack if is_model else match.model).title])
    score_finished()
    evaluation.refresh_from_db()
    return evaluation


def test_an_attack_leaves_out_models_of_its_own_team(
    env: BoardFixture, entry: Entry, alice: User, own_model: Submission, client: Client
) -> None:
    in_pool(env, "model", env.player("model", "plain"), player_of(own_model))
    attack = env.submission(entry, "untargeted", alice)
    evaluation = played(env, attack, {"plain": EASY, player_of(own_model).title: HARD})
    assert (evaluation.value, evaluation.value_all) == (1.5, 3.5)
    assert (evaluation.met, evaluation.failures, evaluation.tries) == (1, 0, 6)
    assert evaluation.worst_opponent is not None
    assert evaluation.worst_opponent.title == "plain"
    assert [row.get("own") for row in evaluation.per_opponent] == [None, True]
    (row,) = board(env.tracks["untargeted"]).rows
    assert (row.met, row.opponents, row.value, row.value_all) == (1, 2, 1.5, 3.5)
    assert "met 1 of 2; all 2: 3.5" in client.get("/competitions/digits/leaderboards/untargeted").content.decode()
    assert "same team, does not count" in client.get(f"/submissions/{attack.pk}").content.decode()
    line = client.get("/api/v1/competitions/digits/leaderboards/untargeted").json()["rows"][0]
    assert (line["met"], line["opponents"], line["value_all"]) == (1, 2, 3.5)


def test_a_model_counts_the_attack_of_its_own_team(env: BoardFixture, entry: Entry, alice: User) -> None:
    own_attack = env.submission(entry, "untargeted", alice)
    in_pool(env, "untargeted", env.player("untargeted", "noise"), player_of(own_attack))
    model = env.submission(entry, "model", alice)
    evaluation = played(env, model, {"noise": HARD, player_of(own_attack).title: EASY})
    assert (evaluation.value, evaluation.met, evaluation.value_all) == (1.5, 2, None)


def test_a_player_belongs_to_the_team_that_submitted_it_first(
    env: BoardFixture, entry: Entry, alice: User, own_model: Submission
) -> None:
    in_pool(env, "model", env.player("model", "plain"), player_of(own_model))
    doves = env.entry("doves")
    copied = env.submission(doves, "model", alice)
    Submission.objects.filter(pk=copied.pk).update(player=own_model.player)
    distances = {"plain": EASY, player_of(own_model).title: HARD}
    assert played(env, env.submission(doves, "untargeted", alice), distances).met == 2


def test_a_copy_of_a_baseline_has_no_owner(env: BoardFixture, entry: Entry, alice: User) -> None:
    baseline = env.player("model", "plain")
    in_pool(env, "model", baseline, env.player("model", "robust"))
    copied = env.submission(entry, "model", alice)
    Submission.objects.filter(pk=copied.pk).update(player=baseline)
    attack = env.submission(entry, "untargeted", alice)
    assert played(env, attack, {"plain": EASY, "robust": HARD}).met == 2


def test_an_attack_that_meets_only_its_own_team_gets_no_score_until_the_next_pool(
    env: BoardFixture, entry: Entry, alice: User, own_model: Submission
) -> None:
    in_pool(env, "model", player_of(own_model))
    attack = env.submission(entry, "untargeted", alice)
    evaluation = played(env, attack, {player_of(own_model).title: EASY})
    assert (evaluation.state, evaluation.cause, evaluation.reason) == ("void", "platform", "own_opponents")
    assert "Every model of pool 1 belongs to your own team" in evaluation.problem
    assert QuotaSlot.objects.get(submission=attack).state == "refunded"
    assert attack not in set(unevaluated())
    in_pool(env, "model", player_of(own_model), env.player("model", "plain"))
    assert attack in set(unevaluated())
    sweep()
    again = attack.evaluations.get(state="playing")
    env.play(again.matches.get(model__title="plain"), EASY)
    score_finished()
    again.refresh_from_db()
    assert (again.value, again.met) == (1.5, 1)


def test_an_attack_that_meets_only_its_own_team_holds_up_no_rejudging(
    env: BoardFixture, entry: Entry, alice: User, olga: User, own_model: Submission
) -> None:
    in_pool(env, "model", player_of(own_model))
    own, other = (env.submission(each, "untargeted", alice) for each in (entry, env.entry("doves")))
    for attack in (own, other):
        played(env, attack, {player_of(own_model).title: EASY})
    rejudging = begin_rejudging(competition=env.competition, submissions=[own, other], reason="a driver", by=olga)
    for match in Match.objects.filter(repetition=rejudging.pk):
        env.play(match, HARD)
    sweep()
    with pytest.raises(Refusal, match="no match of it failed"):
        replay_rejudging(rejudging=rejudging, by=olga, reason="once more")
    publish_rejudging(rejudging=rejudging, by=olga, reason="the driver was replaced")
    assert rejudging.evaluations.get(submission=own).reason == "own_opponents"
    assert rejudging.evaluations.get(submission=other).value == 6.5
    assert [row[:2] for row in env.table("untargeted")] == [(1, "doves")]


def test_a_verification_gives_the_same(env: BoardFixture, entry: Entry, alice: User, own_model: Submission) -> None:
    in_pool(env, "model", env.player("model", "plain"), player_of(own_model))
    attack = env.submission(entry, "untargeted", alice)
    played(env, attack, {"plain": EASY, player_of(own_model).title: HARD})
    before = list(Evaluation.objects.values()), [bytes(row.medians) for row in Resamples.objects.all()]
    Evaluation.objects.update(met=None, value_all=None, value=9.0)
    (difference,) = verify_boards(repair=True).differences
    assert "value is 9.0 and should be" in difference.problem
    assert (list(Evaluation.objects.values()), [bytes(row.medians) for row in Resamples.objects.all()]) == before
