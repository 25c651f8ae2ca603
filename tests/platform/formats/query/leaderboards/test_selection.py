"""The submissions that a team could choose from, on leaderboards and in their rank intervals."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import TYPE_CHECKING

import numpy as np
import pytest
from django.test import Client

from accounts.models import Membership, User
from competitions.models import RulesVersion
from formats.query.leaderboards.choose_submission import choose
from formats.query.leaderboards.models import Evaluation, Pool, Resamples, Standing
from formats.query.leaderboards.past_boards import board_at
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.leaderboards.score_visibility import board, rows_now
from formats.query.leaderboards.scoring import recompute, refresh_boards
from formats.query.leaderboards.scoring_adapter import RankedEvaluation, rank_columns
from submissions.models import Submission
from submissions.services import withdraw

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


@pytest.fixture
def choice_allowed(rules: RulesVersion) -> RulesVersion:
    """Rules under which teams choose."""
    rules.values["counting_submission"] = "chosen"
    rules.save()
    return rules


@pytest.fixture
def sent(env: BoardFixture, attack_pool: Pool, alice: User) -> list[Submission]:
    """Three models of the Owls and one of the Bats, all scored."""
    owls, bats = env.entry("owls"), env.entry("bats")
    Membership.objects.create(team=owls.team, user=alice, role="captain", joined_at=owls.joined_at)
    found = [env.submission(owls, "model", alice) for _ in range(3)] + [env.submission(bats, "model", alice)]
    for submission, distance in zip(found, (3.0, 2.0, 1.0, 2.5), strict=True):
        env.score(submission, distance)
    return found


def tried(env: BoardFixture) -> dict[str, int | None]:
    """The submissions that each team could choose from, on the leaderboard of models."""
    return {row.team_slug: row.tried for row in board(env.tracks["model"]).rows}


def test_the_expected_gain_of_a_team_follows_from_the_submissions_it_tried(
    env: BoardFixture, choice_allowed: RulesVersion, sent: list[Submission]
) -> None:
    assert tried(env) == {"owls": 3, "bats": 1}
    gains = {row.team_slug: row.expected_gain for row in board(env.tracks["model"]).rows}
    assert gains["bats"] == 0
    assert gains["owls"] == pytest.approx(np.expm1(0.050 * (200 / 6) ** 0.5 * 0.848), abs=0.01)
    assert verify_boards().differences == ()


def test_where_the_newest_counts_nothing_is_selected(env: BoardFixture, sent: list[Submission]) -> None:
    assert tried(env) == {"owls": None, "bats": None}
    assert {row.expected_gain for row in board(env.tracks["model"]).rows} == {None}


def test_a_withdrawn_submission_was_tried_too(
    env: BoardFixture, choice_allowed: RulesVersion, sent: list[Submission], alice: User
) -> None:
    withdraw(submission=sent[1], by=alice)
    recompute(env.tracks["model"])
    assert tried(env)["owls"] == 3


def test_a_new_pool_does_not_make_the_chosen_one_the_only_one(
    env: BoardFixture, choice_allowed: RulesVersion, sent: list[Submission]
) -> None:
    """Only what counts is measured again, on the same samples, whose luck it keeps."""
    env.pool("untargeted", "noise-2", "boundary-2")
    env.score(sent[2], 1.5)
    row = next(row for row in board(env.tracks["model"]).rows if row.team_slug == "owls")
    assert (row.rank, row.tried) == (1, 3)


def test_a_change_of_the_rules_begins_and_ends_it(
    env: BoardFixture, rules: RulesVersion, sent: list[Submission]
) -> None:
    for value, expected in (("chosen", 3), ("newest", None)):
        rules.values["counting_submission"] = value
        rules.save()
        refresh_boards()
        assert tried(env)["owls"] == expected


def test_a_past_leaderboard_counts_what_was_known_then(
    the_clock: FakeClock, env: BoardFixture, choice_allowed: RulesVersion, sent: list[Submission], alice: User
) -> None:
    then = the_clock.at
    the_clock.at += timedelta(hours=1)
    env.score(env.submission(sent[0].repository.entry, "model", alice), 4.0)
    assert tried(env)["owls"] == 4
    assert {row.team_slug: row.tried for row in board_at(env.tracks["model"], then).rows()} == {"owls": 3, "bats": 1}


def test_a_snapshot_keeps_it(env: BoardFixture, choice_allowed: RulesVersion, sent: list[Submission]) -> None:
    assert {row["team_slug"]: row["tried"] for row in rows_now(env.tracks["model"])} == {"owls": 3, "bats": 1}


def noisy(evaluation: int, place: int, value: float, **options: int) -> RankedEvaluation:
    """A row whose resamples have a deviation of 1 from another one's, and are independent of them."""
    resampled = value + np.random.default_rng(place).normal(0, 0.5**0.5, 2000)
    return RankedEvaluation(evaluation, place, value, resampled.astype("<f8").tobytes(), **options)


def test_rank_intervals_allow_for_the_selection_of_the_better_row() -> None:
    worse = noisy(8, 2, 10.0)
    assert rank_columns([noisy(7, 1, 12.5), worse], "model")[7] == (1, 1, True)
    assert rank_columns([noisy(7, 1, 12.5, tried=20), worse], "model")[7] == (1, 2, False)
    assert rank_columns([noisy(7, 1, 12.5), worse._replace(tried=20)], "model")[7] == (1, 1, True)


def test_one_more_submission_changes_the_rank_interval_of_the_chosen_one(
    env: BoardFixture, choice_allowed: RulesVersion, sent: list[Submission], alice: User
) -> None:
    """The compared scores are the same as before."""
    owls, bats = sent[0], sent[3]
    Submission.objects.filter(pk__in=[sent[1].pk, sent[2].pk]).update(state="withdrawn")
    Evaluation.objects.filter(submission__in=sent[1:3]).update(counts=False)
    for place, submission in enumerate((owls, bats)):
        evaluation = Evaluation.objects.get(submission=submission)
        Evaluation.objects.filter(pk=evaluation.pk).update(value=12.1 - 2.1 * place)
        kept = noisy(evaluation.pk, place + 1, 12.1 - 2.1 * place)
        Resamples.objects.filter(evaluation=evaluation).update(medians=kept.resampled)
    recompute(env.tracks["model"], again=True)
    standing = Standing.objects.filter(entry=owls.repository.entry)
    assert standing.values_list("tried", "rank_low", "rank_high", "separated").get() == (1, 1, 1, True)
    choose(submission=owls, by=alice)
    env.score(env.submission(owls.repository.entry, "model", alice), 1.0)
    assert standing.values_list("tried", "rank_low", "rank_high", "separated").get() == (2, 1, 2, False)


def test_the_pages_say_it(
    env: BoardFixture, choice_allowed: RulesVersion, sent: list[Submission], client: Client
) -> None:
    page = text_of(client, "/competitions/digits/leaderboards/model")
    gain = round(100 * (board(env.tracks["model"]).rows[-1].expected_gain or 0))
    assert f"1 of 3 tried, {gain} % by luck" in page
    assert "The rank interval allows for the selection" in page
    assert "on this set" not in page
    lines = client.get("/competitions/digits/leaderboards/model.csv").content.decode().splitlines()
    rows = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    assert {row["team"]: (row["tried"], float(row["expected_gain"])) for row in rows} == {
        row["team"]: (str(row["tried"]), row["expected_gain"])
        for row in client.get("/api/v1/competitions/digits/leaderboards/model").json()["rows"]
    }
    team = text_of(client, "/teams/owls")
    assert "3 submissions measured on the current validation set" in team
    assert "The team may choose one by its score" in team
    assert "No selection by score takes place" not in team


def test_the_page_of_a_team_says_that_the_newest_counts(
    env: BoardFixture, sent: list[Submission], client: Client
) -> None:
    assert "No selection by score takes place: the newest one counts." in text_of(client, "/teams/owls")
    assert "tried" not in text_of(client, "/competitions/digits/leaderboards/model")
    row = client.get("/api/v1/competitions/digits/leaderboards/model").json()["rows"][0]
    assert (row["tried"], row["expected_gain"]) == (None, None)


def test_rows_on_different_numbers_of_samples_say_so(env: BoardFixture, sent: list[Submission], client: Client) -> None:
    assert "rows were measured on different numbers of samples" not in text_of(
        client, "/competitions/digits/leaderboards/model"
    )
    Evaluation.objects.filter(submission=sent[3]).update(samples=4)
    page = text_of(client, "/competitions/digits/leaderboards/model")
    assert "rows were measured on different numbers of samples" in page
    assert "4 samples" in page
    assert "6 samples" in page


def text_of(client: Client, address: str) -> str:
    """The words of a page, in one line."""
    words = re.sub(r"<[^>]+>", "", client.get(address).content.decode())
    return " ".join(unescape(words).split())
