"""Submissions side by side on the page of their curves."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from accounts.models import Team, User
from competitions.models import Entry, FrozenLeaderboards, RulesVersion
from formats.query.leaderboards.models import Evaluation, Pool, Snapshot, Standing
from formats.query.leaderboards.score_visibility import rows_now
from formats.query.leaderboards.scoring import recompute
from repositories.models import Repository
from submissions.models import Player, Submission
from tests.platform.conftest import NOON
from tests.platform.pages.conftest import submitted

COMPARE = "/competitions/digits/curves/model"


@pytest.fixture
def two(shown: dict[str, Submission]) -> tuple[Submission, Submission]:
    """The scored submission of the Owls, and a better one of the Bears, against the same opponents."""
    first = shown["scored"]
    team = Team.objects.create(slug="bears", name="Bears", created_at=NOON)
    entry = Entry.objects.create(team=team, competition=first.repository.entry.competition, joined_at=NOON)
    repository = Repository.objects.create(entry=entry, track=first.repository.track, created_at=NOON)
    second = submitted(repository, first.submitted_by, 1, Submission.State.READY, title="Bear net")
    evaluation = first.evaluations.get()
    evaluation.pk, evaluation.submission = None, second
    evaluation.value, evaluation.low, evaluation.high = 3.0, 2.5, 3.5
    evaluation.per_opponent = [{**row, "median": row["median"] + 1} for row in evaluation.per_opponent]
    evaluation.save()
    recompute(first.repository.track)
    return first, second


def page_of(client: Client, *submissions: Submission | int) -> str:
    """Return the page that compares submissions."""
    numbers = [each if isinstance(each, int) else each.pk for each in submissions]
    answer = client.get(COMPARE, {"submission": numbers})
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def row_of(page: str, name: str) -> list[str]:
    """Return the cells of a row of the table, without markup."""
    found = re.search(rf'<th scope="row"[^>]*>{name}.*?</th>(.*?)</tr>', page)
    assert found, name
    return [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<td>(.*?)</td>", found[1])]


def test_scores_stand_side_by_side_in_the_order_of_the_address(
    client: Client, two: tuple[Submission, Submission]
) -> None:
    first, second = two
    assert row_of(page_of(client, first, second), "Rank") == ["2", "1"]
    page = page_of(client, second, first)
    assert row_of(page, "Rank") == ["1", "2"]
    assert row_of(page, "Score")[0] == "3.00"
    assert "not comparable" not in page


def test_the_score_against_the_newest_pool_counts(
    client: Client, two: tuple[Submission, Submission], pool: Pool
) -> None:
    newer = two[1].evaluations.get()
    pool.pk, pool.number = None, 2
    pool.save()
    newer.pk, newer.pool, newer.value = None, pool, 4.0
    newer.save()
    assert row_of(page_of(client, *two), "Score")[1] == "4.00"


def test_the_better_median_against_an_opponent_is_marked(client: Client, two: tuple[Submission, Submission]) -> None:
    first, second = two
    opponent = Player.objects.get(pk=first.evaluations.get().per_opponent[0]["player"]).title
    cells = row_of(page_of(client, first, second), opponent)
    assert ["(best)" in cell for cell in cells] == [False, True]


def test_it_says_which_scores_are_not_comparable(
    client: Client, two: tuple[Submission, Submission], rules: RulesVersion
) -> None:
    other = RulesVersion.objects.create(competition=rules.competition, version=2, values=rules.values, created_at=NOON)
    Evaluation.objects.filter(submission=two[1]).update(rules=other)
    page = page_of(client, *two)
    assert "They were measured with different rules." in page
    assert "(best)" not in page


def test_more_than_five_and_unknown_ones_are_named(client: Client, two: tuple[Submission, Submission]) -> None:
    page = page_of(client, two[0], *range(901, 907))
    assert "2 of the selected submissions are not shown" in page
    assert "No public score in this track: submissions 901, 902, 903, 904" in page
    assert "Select another submission to compare this one with." in page


def test_a_selected_submission_that_is_not_on_the_leaderboard_stays_selected(
    client: Client, two: tuple[Submission, Submission]
) -> None:
    first, second = two
    second.repository.entry.standings.all().delete()
    page = page_of(client, first, second)
    assert f'value="{second.pk}" checked' in page
    assert row_of(page, "Rank") == ["2", "not on the leaderboard"]


def test_a_freeze_hides_newer_scores_and_ranks(client: Client, two: tuple[Submission, Submission]) -> None:
    FrozenLeaderboards.objects.create(competition=two[0].repository.entry.competition, since=NOON.replace(year=2020))
    page = page_of(client, *two)
    assert "None of these submissions has a public score" in page
    assert 'id="side-by-side"' not in page


def test_one_submission_is_compared_with_its_neighbour(client: Client, two: tuple[Submission, Submission]) -> None:
    first, second = two
    assert row_of(page_of(client, first), "Rank") == ["2", "1"]
    assert "With its neighbour on the leaderboard, rank 1." in page_of(client, first)
    assert row_of(page_of(client, second), "Rank") == ["1", "2"]


def test_a_submission_without_rank_is_alone(client: Client, two: tuple[Submission, Submission]) -> None:
    two[0].repository.entry.standings.all().delete()
    assert "Select another submission to compare this one with." in page_of(client, two[0])


def why(client: Client, submission: Submission) -> str:
    """Return why a submission has its rank, in words, as its page says it."""
    page = client.get(f"/submissions/{submission.pk}").content.decode()
    found = re.search(r"Why this rank</h3>(.*?)</ul>", page, re.S)
    return " ".join(re.sub(r"<[^>]*>", "", found[1]).split()) if found else ""


def test_a_page_says_what_separates_a_submission_from_the_next_rank(
    client: Client, two: tuple[Submission, Submission]
) -> None:
    first, second = two
    assert why(client, first) == (
        "1.75 behind rank 1: Bear net by Bears, 3.00. Compare the two "
        "It loses most to rank 1 against Boundary attack: 1.25, rank 1 has 2.25."
    )
    assert why(client, second) == "First, 1.75 ahead of rank 2: Owl 1 by The Owls, 1.25. Compare the two"
    page = client.get(f"/submissions/{first.pk}").content.decode()
    assert '<th scope="col" class="end wide-only">Rank 1</th>' in page


def test_a_page_says_what_a_new_pool_did_to_a_score(
    client: Client, two: tuple[Submission, Submission], pool: Pool
) -> None:
    first, _ = two
    newer = first.evaluations.get()
    pool.pk, pool.number = None, 2
    pool.save()
    newer.pk, newer.pool, newer.value = None, pool, 1.4
    newer.save()
    recompute(first.repository.track)
    assert "Before pool 2, its score was 1.25 (pool 1); now it is 1.40 (pool 2)." in why(client, first)


def test_neighbours_of_a_frozen_leaderboard_are_those_of_the_freeze(
    client: Client, two: tuple[Submission, Submission], bob: User
) -> None:
    first, second = two
    track = first.repository.track
    snapshot = Snapshot.objects.create(track=track, made_at=NOON, reason="test", rows=rows_now(track))
    FrozenLeaderboards.objects.create(competition=track.competition, since=snapshot.made_at.replace(year=2090))
    Standing.objects.filter(track=track, entry=second.repository.entry).delete()
    assert "1.75 behind rank 1: Bear net by Bears" in why(client, first)
