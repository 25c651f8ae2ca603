"""Reading a leaderboard."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from accounts.models import User
from bench.synthetic_competition import fill
from competitions.models import Entry
from core import clock
from formats.query.leaderboards.models import Pool, Standing
from formats.query.leaderboards.score_visibility import board
from formats.query.leaderboards.scoring import recompute

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture

MaxQueries = Callable[[int], AbstractContextManager[object]]


def test_rows_have_shared_ranks_and_the_change_of_rank_since_the_day_before(
    env: BoardFixture, the_clock: FakeClock, entry: Entry, alice: User, attack_pool: Pool
) -> None:
    env.score(env.submission(entry, "model", alice), 1.0)
    doves = env.entry("doves")
    env.score(env.submission(doves, "model", alice), 2.0)
    the_clock.forward(days=1)
    newest = env.submission(entry, "model", alice)
    env.score(newest, 3.0)
    env.score(env.submission(env.entry("crows"), "model", alice), 2.0)
    page = board(env.tracks["model"])
    assert (page.number, page.pages, page.total) == (1, 1, 3)
    assert [(row.rank, row.team_slug, row.change) for row in page.rows] == [
        (1, "owls", 1),
        (2, "crows", None),
        (2, "doves", -1),
    ]
    first = page.rows[0]
    assert (first.team, first.submission, first.title) == ("The Owls", newest.pk, newest.title)
    assert (first.value, first.low, first.high, first.samples, first.failures) == (3.0, 3.0, 3.0, 6, 0)
    assert (first.worst_opponent, first.median_seconds, first.scored_at) == ("noise", 0.1, clock.now())


def test_an_empty_board_has_one_page(env: BoardFixture) -> None:
    page = board(env.tracks["model"])
    assert (list(page.rows), page.number, page.pages, page.total) == ([], 1, 1, 0)


def test_a_page_number_out_of_range_gives_the_nearest(env: BoardFixture, alice: User, attack_pool: Pool) -> None:
    env.score_all({env.submission(env.entry(slug), "model", alice): 1.0 for slug in ("a", "b", "c")})
    for requested, given in (("2", 2), ("99", 3), ("-1", 3), ("none", 1)):
        page = board(env.tracks["model"], requested, page_rows=1)
        assert (page.number, [row.team_slug for row in page.rows]) == (given, ["abc"[given - 1]]), requested


def test_two_thousand_teams_take_few_queries(
    env: BoardFixture, attack_pool: Pool, django_assert_max_num_queries: MaxQueries
) -> None:
    fill(env.competition, attack_pool, 2_000)
    track = env.tracks["model"]
    assert recompute(track) == 2_000
    assert recompute(track) == 0, "unchanged rows are not written"
    with django_assert_max_num_queries(5):
        page = board(track, 30)
    assert (page.total, page.pages, page.rows[0].rank) == (2_000, 40, 1451)
    assert Standing.objects.filter(track=track, rank=1).get().evaluation.value == 2_000
