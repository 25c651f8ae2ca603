"""How many matches of a submission the demo's table shows as played."""

from __future__ import annotations

import pytest

from accounts.models import User
from competitions.models import Entry
from formats.query.demo.query_demo import QueryDemo
from formats.query.leaderboards import services
from formats.query.leaderboards.models import Pool
from formats.query.leaderboards.scoring import score_finished
from tests.platform.formats.query.leaderboards.conftest import BoardFixture


@pytest.mark.django_db
def test_it_counts_the_matches_of_what_is_played_now(
    env: BoardFixture, attack_pool: Pool, entry: Entry, alice: User
) -> None:
    submission = env.submission(entry, "model", alice)
    evaluation = services.evaluate(submission)
    assert evaluation is not None
    first, second = evaluation.matches.all()
    env.play(first, [1.0] * env.sample_set.count)
    assert QueryDemo().played(env.competition) == {submission.pk: (1, 2)}
    env.play(second, [1.0] * env.sample_set.count)
    score_finished()
    assert QueryDemo().played(env.competition) == {}, "it is scored"
