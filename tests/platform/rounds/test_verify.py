"""`rounds.site_verification.verify`: the pools of published rounds are what the rounds give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accounts.models import Membership
from core.models import Event
from formats.query.leaderboards.models import PoolPlace
from formats.query.leaderboards.services import set_pool
from rounds.models import Round, RoundEntry
from rounds.publishing.publication import publish
from rounds.site_verification import verify
from submissions import services as submissions
from submissions.models import Player, Submission

if TYPE_CHECKING:
    from core.data_difference import Difference
    from tests.platform.rounds.conftest import RoundFixture


@pytest.fixture
def published(env: RoundFixture) -> Round:
    """Seven models, of which one was withdrawn and one disqualified before the result was published."""
    env.field(7, 3)
    set_pool(track=env.tracks["model"], players=[env.player("model", 8)], reason="a test")
    round_ = env.scored(env.plan(samples=8))
    gone = Submission.objects.get(title="mo-0 0")
    team = gone.repository.entry.team
    Membership.objects.create(team=team, user=gone.submitted_by, role="captain", joined_at=team.created_at)
    submissions.withdraw(submission=gone, by=gone.submitted_by)
    submissions.disqualify(submission=Submission.objects.get(title="mo-1 1"), by=env.organiser, reason="it cheats")
    before = env.tracks["model"].pools.first()
    assert before is not None
    old = env.submission("owls", "model", 9)
    Player.objects.filter(submissions=old).update(repository=old.repository, baseline="")
    PoolPlace.objects.create(pool=before, player=env.player("model", 9), place=2)
    submissions.disqualify(submission=old, by=env.organiser, reason="it cheats")
    publish(round_=round_, by=env.organiser)
    assert env.pool("model") == [f"model {number}" for number in (2, 3, 4, 5, 6)]
    return round_


def of_pools() -> list[Difference]:
    return [each for each in verify().differences if each.subject.startswith("pool")]


def test_published_pools_are_correct_whatever_happens_after_the_publication(
    env: RoundFixture, published: Round
) -> None:
    assert of_pools() == []
    submissions.reinstate(submission=Submission.objects.get(title="mo-1 1"), by=env.organiser, reason="it does not")
    submissions.disqualify(submission=Submission.objects.get(title="mo-2 2"), by=env.organiser, reason="it does")
    assert of_pools() == [], "what happens after the publication changes no pool"


def test_content_that_was_gone_may_be_submitted_again(env: RoundFixture, published: Round) -> None:
    """After the publication: by another team, or with the same team reinstated."""
    env.submission("bats", "model", 9)
    assert of_pools() == []
    submissions.reinstate(submission=Submission.objects.get(title="mo-1 1"), by=env.organiser, reason="it does not")
    env.submission("bats", "model", 1)
    assert of_pools() == []


def test_it_does_not_read_the_event_log(published: Round) -> None:
    Event.objects.filter(verb__in=["publish", "withdraw", "disqualify"])._raw_delete("default")
    assert of_pools() == []


def test_it_finds_a_pool_in_another_order(env: RoundFixture, published: Round) -> None:
    second = PoolPlace.objects.get(pool=env.tracks["model"].pools.first(), place=2)
    PoolPlace.objects.filter(pk=second.pk).update(player=env.player("model", 1))
    (difference,) = of_pools()
    assert difference.problem.endswith(
        "it holds model 2, model 1, model 4, model 5, model 6, but R gives model 2, model 3, model 4, model 5, model 6"
    )
    PoolPlace.objects.filter(pk=second.pk).update(player=second.player)
    assert of_pools() == []


def test_it_finds_places_that_were_changed_later(published: Round) -> None:
    RoundEntry.objects.filter(submission__title="mo-6 6").update(place=1)
    assert "R gives model 6, model 2" in of_pools()[0].problem


def test_it_finds_a_pool_that_is_missing(env: RoundFixture, published: Round) -> None:
    env.tracks["model"].pools.filter(number=2).delete()
    assert "the pool of digits/model that it made is missing" in [each.problem for each in verify().differences]
