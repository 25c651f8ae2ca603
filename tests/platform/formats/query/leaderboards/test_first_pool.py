"""The first pool of a track: its baselines, and the first submissions where they are too few."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from competitions.selectors import rules_in_force
from core import clock
from formats.query.demo.query_demo import QueryDemo
from formats.query.leaderboards import scoring, services
from formats.query.leaderboards.evaluation_basis import pool_in_force
from formats.query.leaderboards.models import Pool
from formats.query.leaderboards.tasks import evaluate, sweep
from submissions.models import Submission

if TYPE_CHECKING:
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


def submitted(env: BoardFixture, team: str, by: User) -> Submission:
    """Create the first submission of a new team to the model track, ready a minute after the previous one."""
    submission = env.submission(env.entry(team), "model", by)
    at = clock.now() + timedelta(minutes=Submission.objects.count())
    Submission.objects.filter(pk=submission.pk).update(state_since=at)
    return submission


def members(env: BoardFixture) -> list[str]:
    """Return the titles of the model pool's players, in order."""
    pool = pool_in_force(env.tracks["model"])
    return [place.player.title for place in pool.places.select_related("player")] if pool else []


def test_it_grows_with_each_team_until_it_is_full(env: BoardFixture, alice: User) -> None:
    titles = []
    for number in range(7):
        submission = submitted(env, f"team-{number}", alice)
        evaluate(submission=submission.pk)
        titles.append(submission.title)
        assert members(env) == titles[:5]
    assert Pool.objects.count() == 5, "each change is a new pool"
    pool = pool_in_force(env.tracks["model"])
    assert pool is not None
    assert pool.reason == "the first ready submissions"


def test_a_team_has_one_place(env: BoardFixture, alice: User) -> None:
    first = submitted(env, "owls", alice)
    sweep()
    env.submission(first.repository.entry, "model", alice)
    sweep()
    assert members(env) == [first.title]


def test_equal_content_has_one_place(env: BoardFixture, alice: User) -> None:
    first, second = submitted(env, "owls", alice), submitted(env, "doves", alice)
    Submission.objects.filter(pk=second.pk).update(player=first.player)
    sweep()
    assert members(env) == [first.title]


def test_an_attack_is_measured_again_as_the_pool_grows(env: BoardFixture, alice: User) -> None:
    attack = env.submission(env.entry("arrows"), "untargeted", alice)
    sweep()
    assert not attack.evaluations.exists()
    submitted(env, "owls", alice)
    sweep()
    submitted(env, "doves", alice)
    sweep()
    assert [evaluation.matches.count() for evaluation in attack.evaluations.order_by("pk")] == [1, 2]


def test_what_is_disqualified_leaves_it_and_its_place_is_filled(env: BoardFixture, alice: User) -> None:
    submissions = [submitted(env, f"team-{number}", alice) for number in range(6)]
    sweep()
    Submission.objects.filter(pk=submissions[1].pk).update(disqualified_at=clock.now())
    sweep()
    assert members(env) == [submissions[number].title for number in (0, 2, 3, 4, 5)]


def test_it_shrinks_with_rules_that_allow_fewer_and_the_sweep_goes_on(env: BoardFixture, alice: User) -> None:
    submissions = [submitted(env, f"team-{number}", alice) for number in range(5)]
    attack = env.submission(env.entry("arrows"), "untargeted", alice)
    sweep()
    rules = rules_in_force(env.competition)
    rules.pk, rules.version, rules.values = None, rules.version + 1, {**rules.values, "opponents": 3}
    rules.save()
    Submission.objects.filter(pk=submissions[1].pk).update(disqualified_at=clock.now())
    sweep()
    assert members(env) == [submissions[number].title for number in (0, 2, 3)]
    newest = attack.evaluations.order_by("-pk").first()
    assert newest is not None
    assert (newest.rules, newest.matches.count()) == (rules, 3)


def test_a_withdrawn_player_stays_in_the_pool(env: BoardFixture, alice: User) -> None:
    first, second = submitted(env, "owls", alice), submitted(env, "doves", alice)
    sweep()
    Submission.objects.filter(pk=first.pk).update(state="withdrawn")
    submitted(env, "newts", alice)
    sweep()
    assert members(env)[:2] == [first.title, second.title]
    assert len(members(env)) == 3


def test_the_last_one_stays(env: BoardFixture, alice: User) -> None:
    only = submitted(env, "owls", alice)
    sweep()
    Submission.objects.filter(pk=only.pk).update(disqualified_at=clock.now())
    sweep()
    assert members(env) == [only.title], "an empty pool would stop every attack"


@pytest.mark.parametrize("by", ["an organiser or a round", "baselines"])
def test_a_pool_with_another_origin_is_not_changed(env: BoardFixture, alice: User, by: str) -> None:
    if by == "baselines":
        env.tracks["model"].baselines = ["numpy-classifier"]
        env.tracks["model"].save()
    env.pool("model", "plain")
    submitted(env, "owls", alice)
    assert services.fill_first_pools() == []
    assert members(env) == ["plain"]


def baselines(env: BoardFixture, kind: str, *titles: str) -> None:
    """The first pool of the track has these baselines, which are fewer than the rules allow."""
    env.tracks[kind].baselines = list(titles)
    env.tracks[kind].save()
    players = [env.player(kind, title) for title in titles]
    services.set_pool(track=env.tracks[kind], players=players, reason="baselines", of_first_submissions=True)


def test_models_with_a_score_above_0_join_few_baselines(
    env: BoardFixture, alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """A model that is wrong on half of the images has the score 0, and would give every attack the score 0."""
    baselines(env, "model", "plain")
    env.pool("untargeted", "noise")
    wrong, right = submitted(env, "owls", alice), submitted(env, "newts", alice)
    assert services.fill_first_pools() == [], "they are not scored"
    env.score(wrong, 0.0)
    env.score(right, 1.5)
    assert len(services.fill_first_pools()) == 1
    services.fill_first_pools()
    with django_assert_num_queries(1):  # nothing has changed since
        services.fill_first_pools()
    assert members(env) == ["plain", right.title]
    pool = pool_in_force(env.tracks["model"])
    assert pool is not None
    assert pool.reason == "the bundled baselines and the first submissions"
    Submission.objects.filter(pk=right.pk).update(disqualified_at=clock.now())
    services.fill_first_pools()
    assert members(env) == ["plain"], "baselines stay"


def test_the_demo_waits_until_the_pool_and_the_boards_have_settled(env: BoardFixture, alice: User) -> None:
    """The boards that it prints, and those after a restart, are the same."""

    def left() -> int:
        return QueryDemo().under_way(env.competition)

    baselines(env, "model", "plain")
    env.pool("untargeted", "noise")
    attack = env.submission(env.entry("arrows"), "untargeted", alice)
    env.score(attack, 2.0)
    assert left() == 0
    env.tracks["untargeted"].standings.all().delete()
    assert left() == 1, "the attack's standing"
    scoring.recompute(env.tracks["untargeted"])
    model = submitted(env, "newts", alice)
    assert left() == 1, "its score"
    env.score(model, 1.5)
    assert left() == 1, "its place in the pool"
    services.fill_first_pools()
    assert left() == 1, "the attack's score against that pool"
    env.score(attack, 1.0)
    assert left() == 0


def test_attacks_join_few_baselines_at_once(env: BoardFixture, alice: User) -> None:
    baselines(env, "targeted", "transfer")
    attack = env.submission(env.entry("arrows"), "targeted", alice)
    evaluate(submission=attack.pk)
    pool = pool_in_force(env.tracks["targeted"])
    assert pool is not None
    assert [place.player.title for place in pool.places.select_related("player")] == ["transfer", attack.title]


def test_nobody_joins_before_the_baselines_are_built(env: BoardFixture, alice: User) -> None:
    env.tracks["targeted"].baselines = ["targeted-boundary"]
    env.tracks["targeted"].save()
    evaluate(submission=env.submission(env.entry("arrows"), "targeted", alice).pk)
    assert pool_in_force(env.tracks["targeted"]) is None
