"""Rank intervals of a leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client

from accounts.models import User
from core.data_difference import Verified
from formats.query.leaderboards import rank_intervals, services
from formats.query.leaderboards import ranking as boards
from formats.query.leaderboards.models import Pool, Resamples, Standing
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.leaderboards.score_visibility import board, rows_now
from formats.query.leaderboards.scoring import recompute, refresh_boards, score_finished
from submissions.models import Submission

if TYPE_CHECKING:
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture

BOARD = "/competitions/digits/leaderboards/model"
BASE = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def model(env: BoardFixture, alice: User, slug: str, distances: list[float]) -> Submission:
    """Create a model of a new team, scored with these distances against every attack."""
    submission = env.submission(env.entry(slug), "model", alice)
    evaluation = services.evaluate(submission)
    assert evaluation is not None
    for match in evaluation.matches.filter(state="waiting"):
        env.play(match, distances)
    score_finished()
    return submission


@pytest.fixture
def three(env: BoardFixture, alice: User, attack_pool: Pool) -> BoardFixture:
    """One model that is better than the two others on every sample; those two win and lose by sample."""
    model(env, alice, "a", [each + 2 for each in BASE])
    model(env, alice, "b", [1.1, 1.9, 3.1, 4.1, 4.9, 6.0])
    model(env, alice, "c", BASE)
    return env


def fits(env: BoardFixture) -> list[tuple[str, int | None, int | None, int | None, bool | None]]:
    rows = env.tracks["model"].standings.order_by("place", "entry")
    return list(rows.values_list("entry__team__slug", "rank", "rank_low", "rank_high", "separated"))


def test_rank_intervals_are_on_the_board_its_page_and_the_api(three: BoardFixture, client: Client) -> None:
    assert fits(three) == [("a", 1, 1, 1, True), ("b", 2, 2, 3, False), ("c", 3, 2, 3, None)]
    page = client.get(BOARD).content.decode()
    assert "(2 to 3)" in page
    assert ">(1)<" in page
    assert "With 6 samples, scores closer than about" in page
    rows = client.get(f"/api/v1{BOARD}").json()["rows"]
    assert [(row["rank_low"], row["rank_high"]) for row in rows] == [(1, 1), (2, 3), (2, 3)]


def test_each_score_keeps_its_resamples_and_a_recomputation_reads_no_rows(
    three: BoardFixture, django_assert_max_num_queries: object
) -> None:
    assert {len(bytes(row.medians)) for row in Resamples.objects.all()} == {2000 * 8}
    Standing.objects.update(rank_low=None)
    with django_assert_max_num_queries(15) as seen:  # type: ignore[operator]
        recompute(three.tracks["model"])
    assert not [query for query in seen.captured_queries if "sampleresult" in query["sql"]]
    assert fits(three)[1] == ("b", 2, 2, 3, False)


def test_they_are_kept_while_the_same_scores_are_compared(three: BoardFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*arguments: object) -> object:
        raise AssertionError("computed again")

    monkeypatch.setattr(rank_intervals, "rank_columns", computed)
    assert recompute(three.tracks["model"]) == 0


def test_a_verification_finds_and_repairs_them(three: BoardFixture) -> None:
    before = fits(three)
    Standing.objects.update(rank_low=1, rank_high=3, separated=True)
    Resamples.objects.all().delete()
    assert len(verify_boards(repair=True).differences) == 3 + 3
    assert fits(three) == before
    assert verify_boards() == Verified(3, 3, ())


def test_there_are_none_while_resamples_are_missing(three: BoardFixture) -> None:
    Resamples.objects.filter(evaluation__value=5.5).delete()
    recompute(three.tracks["model"])
    assert {row[2:] for row in fits(three)} == {(None, None, None)}


def test_scores_on_earlier_bases_have_none(three: BoardFixture, client: Client) -> None:
    three.pool("untargeted", "stronger")
    assert {(row["rank"], row["rank_low"]) for row in rows_now(three.tracks["model"])} == {(None, None)}
    refresh_boards()
    assert {row[1:] for row in fits(three)} == {(None, None, None, None)}


def test_rows_beyond_those_compared_have_none_and_intervals_may_reach_below(
    three: BoardFixture, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    for module in (boards, rank_intervals):
        monkeypatch.setattr(module, "COMPARED", 2)
    recompute(three.tracks["model"])
    assert fits(three) == [("a", 1, 1, 1, True), ("b", 2, 2, None, None), ("c", 3, None, None, None)]
    assert "(from 2)" in client.get(BOARD).content.decode()


@pytest.mark.parametrize(
    ("place", "words"), [(1, "Separated:"), (2, "Not separated:")], ids=["separated", "not separated"]
)
def test_a_line_says_whether_the_last_with_room_in_a_pool_is_separated_from_the_next(
    three: BoardFixture, client: Client, place: int, words: str
) -> None:
    rules = three.competition.rules_versions.get()
    rules.values = {**rules.values, "opponents": place}
    rules.save()
    page = client.get(BOARD).content.decode()
    assert words in page
    assert page.index(words) > page.index(f">{'ab'[place - 1].title()}</a>")
    assert page.index(words) < page.index(f">{'bc'[place - 1].title()}</a>")


def test_equal_scores_are_never_separated(env: BoardFixture, alice: User, attack_pool: Pool, client: Client) -> None:
    for slug in ("a", "b", "c"):
        model(env, alice, slug, [each + (slug == "a") for each in BASE])
    assert fits(env) == [("a", 1, 1, 1, True), ("b", 2, 2, 3, None), ("c", 2, 2, 3, None)]
    rules = env.competition.rules_versions.get()
    rules.values = {**rules.values, "opponents": 2}
    rules.save()
    assert board(env.tracks["model"]).rows[1].rank == 2
    assert ">Not separated:" in client.get(BOARD).content.decode()
