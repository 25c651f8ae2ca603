"""What leaderboards and team pages say about luck on a fixed sample set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from html import unescape
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, User
from competitions.models import FrozenLeaderboards, SampleSet
from formats.query.leaderboards import services
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.scoring import score_finished
from formats.query.leaderboards.selection_effect import luck_of, luck_on
from formats.query.matches.models import Match
from submissions.models import Submission

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture

STEADY = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


def scored(env: BoardFixture, submission: Submission, distances: Sequence[float] = STEADY) -> Evaluation:
    """Evaluate the submission; every opponent meets it with these distances."""
    evaluation = services.evaluate(submission)
    assert evaluation is not None
    for match in evaluation.matches.filter(state=Match.State.WAITING):
        env.play(match, distances)
    score_finished()
    evaluation.refresh_from_db()
    return evaluation


def test_luck_grows_with_submissions_and_the_newest_is_compared_with_the_one_before(
    env: BoardFixture, attack_pool: Pool, alice: User
) -> None:
    owls, bats = env.entry("owls"), env.entry("bats")
    older, newer = (env.submission(owls, "model", alice) for _ in range(2))
    scored(env, older)
    scored(env, newer, [each + 1 for each in STEADY])
    scored(env, env.submission(bats, "model", alice))
    on_board = luck_on(env.tracks["model"], ["owls", "bats", "cats"])
    assert on_board is not None
    assert (on_board.samples, on_board.measured) == (6, {"owls": 2, "bats": 1})
    assert [chance.submissions for chance in on_board.chances] == [5, 35, 150]
    assert 0 < on_board.chances[0].gain < on_board.chances[1].gain < on_board.chances[2].gain
    (own,) = luck_of(owls, inside=True)
    assert (own.track, own.chance.submissions, own.newest) == (env.tracks["model"], 2, newer.pk)
    assert own.compared is not None
    assert (own.compared.older, own.compared.better) == (older.pk, True)
    assert own.compared.difference.separated
    assert own.compared.difference.value == own.compared.difference.low == own.compared.difference.high == 1.0
    assert luck_of(owls, inside=True) == [own], "the cached value is the computed one"


@pytest.mark.parametrize(("kind", "pool"), [("model", "untargeted"), ("untargeted", "model")])
def test_smaller_is_better_for_attacks_alone(env: BoardFixture, alice: User, kind: str, pool: str) -> None:
    env.pool(pool, "one", "two")
    owls = env.entry("owls")
    for distances in (STEADY, [each / 2 for each in STEADY]):
        scored(env, env.submission(owls, kind, alice), distances)
    (own,) = luck_of(owls, inside=True)
    assert own.compared is not None
    assert own.compared.difference.separated
    assert own.compared.better == (kind == "untargeted")


def test_noise_separates_nothing(env: BoardFixture, attack_pool: Pool, alice: User) -> None:
    owls = env.entry("owls")
    scored(env, env.submission(owls, "model", alice))
    scored(env, env.submission(owls, "model", alice), [1.2, 1.9, 3.1, 3.9, 4.8, 6.2])
    (own,) = luck_of(owls, inside=True)
    assert own.compared is not None
    difference = own.compared.difference
    assert difference.low < 0 < difference.high
    assert not difference.separated


def test_the_comparison_is_for_the_team_and_the_organisers(env: BoardFixture, attack_pool: Pool, alice: User) -> None:
    owls = env.entry("owls")
    for _ in range(2):
        scored(env, env.submission(owls, "model", alice))
    (public,) = luck_of(owls, inside=False)
    assert (public.chance.submissions, public.newest, public.compared) == (2, None, None)


def test_only_scores_on_the_same_basis_are_compared(env: BoardFixture, attack_pool: Pool, alice: User) -> None:
    owls = env.entry("owls")
    first, second, third = (env.submission(owls, "model", alice) for _ in range(3))
    scored(env, first)
    env.pool("untargeted", "another")
    scored(env, second)
    (own,) = luck_of(owls, inside=True)
    assert (own.newest, own.compared) == (second.pk, None)
    scored(env, third)
    (own,) = luck_of(owls, inside=True)
    assert own.compared is not None
    assert (own.newest, own.compared.older) == (third.pk, second.pk)


def test_a_new_validation_set_begins_the_count_again(env: BoardFixture, attack_pool: Pool, alice: User) -> None:
    owls = env.entry("owls")
    for _ in range(3):
        scored(env, env.submission(owls, "model", alice))
    old = env.sample_set
    SampleSet.objects.create(
        competition=old.competition,
        name="validation-2",
        purpose="validation",
        source=old.source,
        split=old.split,
        count=old.count,
        target_seed=1,
        digest=old.digest,
        imported_at=old.imported_at,
        replaces=old,
    )
    assert luck_on(env.tracks["model"], ["owls"]) is None
    scored(env, env.submission(owls, "model", alice))
    board = luck_on(env.tracks["model"], ["owls"])
    assert board is not None
    assert board.measured == {"owls": 1}


def test_an_opponent_that_the_score_leaves_out_decides_nothing(env: BoardFixture, alice: User) -> None:
    owls = env.entry("owls")
    own_model = env.submission(owls, "model", alice).player
    assert own_model is not None
    players = [env.player("model", "plain"), own_model]
    services.set_pool(track=env.tracks["model"], players=players, reason="a test")
    for on_own in (1.0, 9.0):
        evaluation = services.evaluate(env.submission(owls, "untargeted", alice))
        assert evaluation is not None
        for match in evaluation.matches.all():
            env.play(match, [on_own] * 6 if match.model_id == own_model.pk else STEADY)
        score_finished()
    (own,) = [each for each in luck_of(owls, inside=True) if each.track.name == "untargeted"]
    assert own.compared is not None
    assert own.compared.difference.value == 0


def test_what_a_frozen_leaderboard_hides_is_not_counted(
    env: BoardFixture, attack_pool: Pool, alice: User, the_clock: FakeClock
) -> None:
    owls = env.entry("owls")
    scored(env, env.submission(owls, "model", alice))
    since = the_clock.at
    FrozenLeaderboards.objects.create(competition=owls.competition, since=since)
    the_clock.at += timedelta(hours=1)
    scored(env, env.submission(owls, "model", alice))
    board = luck_on(env.tracks["model"], ["owls"], until=since)
    assert board is not None
    assert board.measured == {"owls": 1}
    assert luck_of(owls, inside=False)[0].chance.submissions == 1
    assert luck_of(owls, inside=True)[0].chance.submissions == 2


def test_a_comparison_is_computed_once(env: BoardFixture, attack_pool: Pool, alice: User) -> None:
    owls = env.entry("owls")
    for _ in range(2):
        scored(env, env.submission(owls, "model", alice))
    queries = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as requested:
            luck_of(owls, inside=True)
        queries.append(sum("sampleresult" in each["sql"] for each in requested))
    assert queries == [2, 0]


def test_nothing_is_said_before_there_is_a_pool(env: BoardFixture, alice: User) -> None:
    assert luck_on(env.tracks["model"], ["owls"]) is None
    assert luck_of(env.entry("owls"), inside=True) == []


def test_the_pages_say_it(env: BoardFixture, attack_pool: Pool, alice: User, charlie: User, client: Client) -> None:
    owls = env.entry("owls")
    Membership.objects.create(team=owls.team, user=alice, role="captain", joined_at=owls.joined_at)
    older, newer = (env.submission(owls, "model", alice) for _ in range(2))
    scored(env, older)
    scored(env, newer, [1.2, 1.9, 3.1, 3.9, 4.8, 6.2])
    board = text_of(client, "/competitions/digits/leaderboards/model")
    assert "2nd on this set" in board
    said = re.search(
        r"Luck: on these 6 samples, the best of several equally good submissions of a team looks better than it is\. "
        r"The expected gain: (\d+) % with 5 submissions, (\d+) % with 35 submissions, (\d+) % with 150 submissions\.",
        board,
    )
    assert said is not None
    assert 0 < int(said[1]) < int(said[2]) < int(said[3])
    count = "2 submissions measured on the current validation set (6 samples). The best of 2 equally good submissions"
    compared = (
        f"Submission {newer.pk} is not separated from submission {older.pk}: "
        "difference +0.00, 95 % interval -0.20 to +0.15 over samples, against the same opponents."
    )
    client.force_login(alice)
    page = text_of(client, "/teams/owls")
    assert count in page
    assert compared in page
    client.force_login(charlie)
    page = text_of(client, "/teams/owls")
    assert count in page
    assert "separated" not in page


def text_of(client: Client, address: str) -> str:
    """The words of a page, in one line."""
    words = re.sub(r"<[^>]+>", "", client.get(address).content.decode())
    return " ".join(unescape(words).split())
