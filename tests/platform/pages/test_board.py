"""The page of a leaderboard."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import Team, User
from competitions.models import Entry, RulesVersion
from leaderboards.models import Evaluation, Standing
from submissions.models import Submission

BOARD = "/competitions/digits/leaderboards/model"
ROWS = 130


@pytest.fixture
def crowd(shown: dict[str, Submission]) -> None:
    """Many rows below that of the Owls."""
    evaluation = Evaluation.objects.get()
    first = Standing.objects.get()
    for number in range(2, ROWS + 1):
        team = Team.objects.create(slug=f"team-{number}", name=f"Team {number}", created_at=evaluation.created_at)
        entry = Entry.objects.create(
            team=team, competition=first.track.competition, joined_at=evaluation.created_at + timedelta(days=1)
        )
        Standing.objects.create(
            track=first.track, entry=entry, evaluation=evaluation, rank=number, previous_rank=number + 1
        )


def test_it_works(client: Client, shown: dict[str, Submission]) -> None:
    page = client.get(BOARD).content.decode()
    for text in ("The Owls", "1.250", "1.125 to 1.500", "Boundary attack", "3.5 s", "Larger is better", "<caption>"):
        assert text in page
    assert reverse("pages:submission", args=[shown["scored"].pk]) in page
    assert "Smaller is better" in client.get(BOARD.replace("model", "targeted")).content.decode()


def test_it_shows_a_hundred_rows_a_page(client: Client, crowd: None) -> None:
    first, second = client.get(BOARD).content.decode(), client.get(f"{BOARD}?page=2").content.decode()
    assert "Page 1 of 2" in first
    assert "Team 100<" in first
    assert "Team 101<" not in first
    assert "Team 101<" in second
    assert client.get(f"{BOARD}?page=nonsense").status_code == 200


def test_it_marks_scores_under_rules_that_are_not_in_force(
    client: Client, shown: dict[str, Submission], rules: RulesVersion
) -> None:
    before = client.get(BOARD).content.decode()
    assert ">rules 1<" not in before
    assert ">provisional<" not in before
    RulesVersion.objects.create(
        competition=rules.competition, version=2, values=rules.values, created_at=rules.created_at
    )
    after = client.get(BOARD).content.decode()
    assert ">rules 1<" in after
    assert ">provisional<" in after


def test_it_marks_the_team_of_whoever_looks(client: Client, shown: dict[str, Submission], bob: User) -> None:
    assert "your team" not in client.get(BOARD).content.decode()
    client.force_login(bob)
    assert "your team" in client.get(BOARD).content.decode()


def test_it_follows_changes_and_is_silent_without_them(client: Client, shown: dict[str, Submission]) -> None:
    page = client.get(BOARD).content.decode()
    again = page.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert client.get(again, headers={"HX-Request": "true"}).status_code == 204
    Standing.objects.update(rank=7)
    changed = client.get(again, headers={"HX-Request": "true"})
    assert changed.status_code == 200
    assert "<html" not in changed.content.decode()


@pytest.mark.parametrize("signed_in", [False, True])
def test_it_takes_at_most_ten_queries(
    client: Client, crowd: None, bob: User, signed_in: bool, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    if signed_in:
        client.force_login(bob)
    with django_assert_max_num_queries(10):
        client.get(BOARD)


def test_it_rejects_a_track_that_is_none(client: Client, shown: dict[str, Submission]) -> None:
    assert client.get(BOARD.replace("model", "other")).status_code == 404
