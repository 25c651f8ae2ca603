"""`rounds.site_verification.verify`: the pools of published rounds are what the rounds give."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.db import transaction

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


def test_it_finds_what_was_changed_later(env: RoundFixture, published: Round) -> None:
    pool = env.tracks["model"].pools.get(number=2)
    changes: dict[str, Callable[[], object]] = {
        "it holds model 2, model 1, model 4, model 5, model 6, but R gives model 2, model 3, model 4, model 5, model 6":
            lambda: pool.places.filter(place=2).update(player=env.player("model", 1)),
        "R gives model 6, model 2":
            lambda: RoundEntry.objects.filter(submission__title="mo-6 6").update(place=1),
        "the pool of digits/model that it made is missing":
            lambda: env.tracks["model"].pools.filter(number=2).delete(),
    }  # fmt: skip
    for problem, change in changes.items():
        with transaction.atomic():
            change()
            assert problem in verify().differences[0].problem
            transaction.set_rollback(True)
    assert of_pools() == []
