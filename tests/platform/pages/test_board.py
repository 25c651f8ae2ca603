"""The page of a leaderboard."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import Team, User
from competitions.models import Competition, Entry, FrozenLeaderboards, RulesVersion, Track
from formats.query.leaderboards.models import Evaluation, Pool, PoolPlace, Snapshot, Standing
from formats.query.leaderboards.snapshots_and_freezes import take_snapshot
from repositories.models import Repository
from submissions.models import Player, Submission

BOARD = "/competitions/digits/leaderboards/model"
ROWS = 130


@pytest.fixture
def crowd(shown: dict[str, Submission]) -> None:
    """Many rows below the Owls."""
    evaluation = Evaluation.objects.get()
    first = Standing.objects.get()
    for number in range(2, ROWS + 1):
        team = Team.objects.create(slug=f"team-{number}", name=f"Team {number}", created_at=evaluation.created_at)
        entry = Entry.objects.create(
            team=team, competition=first.track.competition, joined_at=evaluation.created_at + timedelta(days=1)
        )
        Standing.objects.create(
            track=first.track, entry=entry, evaluation=evaluation, place=number, rank=number, previous_rank=number + 1
        )


def test_a_row_shows_team_score_interval_and_worst_opponent_and_leads_to_its_submission(
    client: Client, shown: dict[str, Submission]
) -> None:
    page = client.get(BOARD).content.decode()
    for text in (
        "The Owls",
        "<b>1.25</b>",
        "1.12 to 1.50",
        "Boundary attack",
        "3.5 s",
        "Larger is better",
        'aria-describedby="board-caption"',
    ):
        assert text in page
    assert reverse("pages:submission", args=[shown["scored"].pk]) in page
    assert "Smaller is better" in client.get(BOARD.replace("model", "targeted")).content.decode()


def test_it_says_what_its_numbers_mean(client: Client, shown: dict[str, Submission]) -> None:
    Evaluation.objects.update(clean_wrong=1, held=0)
    page = client.get(BOARD).content.decode()
    for text in (
        "95 % interval over samples, against one opponent.",
        "The rank intervals in brackets compare teams.",
        "L2 of pixels / 255, from 0 to 110.85 for images of 64 x 64 x 3",
        "Held</a></th>",
        "83.3 %",
        "There is no significance test for this",
        "It is computed for the first 100 ranked rows",
    ):
        assert text in page
    assert ">not broken<" not in page
    assert "Failures" not in page
    Standing.objects.update(track=Track.objects.get(name="untargeted"))
    page = client.get(BOARD.replace("model", "untargeted")).content.decode()
    assert "Found nothing</a></th>" in page
    assert "Clean accuracy" not in page


@pytest.mark.parametrize(("held", "marked"), [(3, False), (4, True)])
def test_a_model_that_held_on_more_than_half_of_the_samples_is_marked(
    client: Client, shown: dict[str, Submission], held: int, marked: bool
) -> None:
    Evaluation.objects.update(held=held)
    board = client.get(BOARD).content.decode()
    assert (f"on {held} of 6 samples" in board) == marked
    assert ("axis from 0 to 1.5" in board) != marked, "its bar is not drawn, and stretches no axis"
    page = client.get(reverse("pages:submission", args=[shown["scored"].pk])).content.decode()
    assert (f"Not broken on {held} of 6 samples, more than half" in page) == marked


def test_scores_against_an_earlier_pool_have_no_rank(client: Client, crowd: None, pool: Pool) -> None:
    page = client.get(BOARD).content.decode()
    assert "No rank yet." not in page
    Pool.objects.create(track=pool.track, number=2, made_at=pool.made_at, reason="A better one.")
    page = client.get(BOARD).content.decode()
    assert page.count("No rank yet.") == 1
    assert page.count("measured against pool 1<") == 50
    assert page.count('<span class="visually-hidden">no rank</span>') == 50
    assert "up</span>" not in page
    assert client.get(f"{BOARD}?page=2").content.decode().count("No rank yet.") == 1
    assert "no rank yet" in client.get("/competitions/digits").content.decode()
    assert "no rank yet" in client.get("/teams/owls").content.decode()


def test_pairs_without_an_adversarial_are_a_share_of_samples_times_opponents(
    client: Client, shown: dict[str, Submission], pool: Pool
) -> None:
    assert "2 of 6<" in client.get(BOARD).content.decode(), "six samples against one opponent"
    first = pool.places.get()
    player = Player.objects.create(
        competition=first.player.competition, track_name="untargeted", digest="sha256:b", title="Noise",
        command=["run"], baseline="noise", created_at=pool.made_at,
    )  # fmt: skip
    PoolPlace.objects.create(pool=pool, place=2, player=player)
    assert "2 of 12<" in client.get(BOARD).content.decode()


def test_a_snapshot_without_newer_columns_is_shown(
    client: Client, shown: dict[str, Submission], competition: Competition
) -> None:
    track = competition.tracks.get(name="model")
    made = take_snapshot(track=track, reason="before the final")
    later = {*("opponents", "met", "value_all", "held", "clean_wrong", "pool", "rank_low", "rank_high", "separated")}
    rows = [{name: row[name] for name in row if name not in later} | {"provisional": True} for row in made.rows]
    Snapshot.objects.filter(pk=made.pk).update(rows=rows)
    FrozenLeaderboards.objects.create(competition=made.track.competition, since=made.made_at)
    page = client.get(BOARD).content.decode()
    assert 'data-name="Held">2<' in page
    assert ">provisional<" in page
    assert client.get(f"/api/v1{BOARD}").json()["rows"][0]["rank"] == 1, "the rank in the snapshot"


@pytest.mark.parametrize(("kind", "words"), [("model", "Strongest opponent"), ("untargeted", "Hardest opponent")])
def test_the_hardest_opponent_has_a_title_for_each_side(
    client: Client, shown: dict[str, Submission], repositories: dict[str, Repository], kind: str, words: str
) -> None:
    Standing.objects.update(track=repositories[kind].track)
    page = client.get(BOARD.replace("model", kind)).content.decode()
    assert words in page
    assert "Worst opponent" not in page


def test_all_bars_of_a_board_have_one_axis_with_ticks(client: Client, crowd: None) -> None:
    wide = Standing.objects.get(rank=2)
    wide.evaluation.pk = None
    wide.evaluation.high, wide.evaluation.value = 9.0, 8.0
    wide.evaluation.save()
    Standing.objects.filter(pk=wide.pk).update(evaluation=wide.evaluation)
    page = client.get(BOARD).content.decode()
    head = page.split('<svg class="axis"')[1].split("</svg>")[0]
    assert re.findall(r">([0-9.]+)</text>", head) == ["0", "2.5", "5", "7.5", "10"]
    starts = re.findall(r'class="range-span" x="([0-9.]+)"', page)
    assert set(starts) == {"11.25"}, "1.125 on an axis to 10, in every row"
    lines = set(re.findall(r'class="range-tick" d="([^"]+)"', page))
    assert lines == {"M0.00 0V10M25.00 0V10M50.00 0V10M75.00 0V10M100.00 0V10"}


def test_the_bars_of_all_pages_have_one_axis(client: Client, crowd: None) -> None:
    last = Standing.objects.get(rank=ROWS)
    last.evaluation.pk = None
    last.evaluation.high = 9.0
    last.evaluation.save()
    Standing.objects.filter(pk=last.pk).update(evaluation=last.evaluation)
    for address in (BOARD, f"{BOARD}?page=2"):
        assert "axis from 0 to 10" in client.get(address).content.decode()


def test_it_shows_fifty_rows_a_page(client: Client, crowd: None) -> None:
    first, second = client.get(BOARD).content.decode(), client.get(f"{BOARD}?page=2").content.decode()
    assert "Page 1 of 3" in first
    assert "Team 50<" in first
    assert "Team 51<" not in first
    assert "Team 51<" in second
    assert client.get(f"{BOARD}?page=nonsense").status_code == 200


def test_it_marks_scores_under_rules_that_are_not_in_force(
    client: Client, shown: dict[str, Submission], rules: RulesVersion
) -> None:
    before = client.get(BOARD).content.decode()
    assert ">rules 1<" not in before
    assert "No rank yet." not in before
    RulesVersion.objects.create(
        competition=rules.competition, version=2, values=rules.values, created_at=rules.created_at
    )
    after = client.get(BOARD).content.decode()
    assert ">rules 1<" in after
    assert ">earlier rules or samples<" in after
    assert "No rank yet." in after


def test_it_marks_the_users_own_team(client: Client, shown: dict[str, Submission], bob: User) -> None:
    assert "your team" not in client.get(BOARD).content.decode()
    client.force_login(bob)
    assert "your team" in client.get(BOARD).content.decode()


def test_polling_returns_changes_or_nothing(client: Client, shown: dict[str, Submission]) -> None:
    page = client.get(BOARD).content.decode()
    again = page.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert client.get(again, headers={"HX-Request": "true"}).status_code == 204
    Standing.objects.update(rank=7)
    changed = client.get(again, headers={"HX-Request": "true"})
    assert changed.status_code == 200
    assert "<html" not in changed.content.decode()


@pytest.mark.parametrize(("signed_in", "most"), [(False, 13), (True, 15)])
def test_it_takes_few_queries(
    client: Client,
    crowd: None,
    bob: User,
    signed_in: bool,
    most: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    if signed_in:
        client.force_login(bob)
    with django_assert_max_num_queries(most):
        answer = client.get(BOARD)
    assert answer.status_code == 200


def test_it_rejects_an_unknown_track(client: Client, shown: dict[str, Submission]) -> None:
    assert client.get(BOARD.replace("model", "other")).status_code == 404
