"""What a new version of the rules makes again in the query format, with the time that it took before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from competitions.formats import competition_formats
from competitions.models import RulesVersion
from core import clock
from formats.query.leaderboards import repeated_evaluations
from formats.query.leaderboards.evaluation_basis import evaluated_again, unevaluated
from formats.query.leaderboards.models import Pool
from formats.query.matches.models import Piece

if TYPE_CHECKING:
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


def sentence(env: BoardFixture) -> str:
    return str(competition_formats.of(env.competition).repeated_work(env.competition))


def test_every_match_of_the_submissions_that_count_is_played_again(
    env: BoardFixture, alice: User, attack_pool: Pool, model_pool: Pool
) -> None:
    owls, doves = env.entry("owls"), env.entry("doves")
    assert sentence(env) == "No submission is evaluated again."
    env.score(env.submission(owls, "model", alice), 1.0)  # which the next one of its team replaces
    counting = [env.submission(owls, "model", alice), env.submission(doves, "untargeted", alice)]
    for each in counting:
        env.score(each, 1.0)
    env.submission(doves, "model", alice)  # which is evaluated in any case
    assert sentence(env) == "2 submissions are evaluated again: no time is known yet."
    Piece.objects.filter(state="played").update(seconds=20.0, played_at=clock.now())  # of two samples each
    assert sentence(env) == "2 submissions are evaluated again: about 4 min of worker time.", (
        "four matches on six samples"
    )
    newest = env.competition.rules_versions.get()
    RulesVersion.objects.create(
        competition=env.competition, version=2, values=newest.values, created_at=newest.created_at
    )
    assert set(counting) < set(unevaluated())


def test_it_says_that_most_submissions_follow_later(
    env: BoardFixture, alice: User, attack_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_evaluations, "AT_ONCE", 0)
    env.score(env.submission(env.entry("owls"), "model", alice), 1.0)
    assert sentence(env).startswith("1 submission is evaluated again: ")
    assert "the others follow when workers are idle" in sentence(env)
    env.competition.rescore_all = True
    assert "idle" not in sentence(env)


def test_the_submission_that_counts_is_looked_up_once_for_a_repository(
    env: BoardFixture, alice: User, attack_pool: Pool, model_pool: Pool
) -> None:
    """A team may have hundreds of submissions: none of them reads all others."""
    owls = env.entry("owls")
    made = [env.submission(owls, "model", alice) for _ in range(3)]
    for each in made:
        env.score(each, 1.0)
    values = env.competition.rules_versions.get().values
    RulesVersion.objects.create(competition=env.competition, version=2, values=values, created_at=clock.now())
    with CaptureQueriesContext(connection) as asked:
        assert [each.pk for each in unevaluated()] == [made[-1].pk]
        assert {each.pk for each in evaluated_again(made[0].repository.track)} == {made[-1].pk}
    of_each_submission = '"repository_id" = ("submissions_submission"."repository_id")'
    assert [each["sql"] for each in asked if of_each_submission in each["sql"]] == []
