"""History: scores and ranks over time, equal to the past leaderboards and to the exported tables."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Team, User
from competitions.models import Entry, FrozenLeaderboards, RulesVersion, Track
from evaluation.charts.line_chart import BOTTOM, LEFT, RIGHT, TOP
from evaluation.charts.scales import RankScale, TimeScale
from formats.query.leaderboards.boards_over_time import history_of
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.past_boards import board_at
from formats.query.leaderboards.scoring import recompute
from formats.query.leaderboards.snapshots_and_freezes import take_snapshot
from repositories.models import Repository
from submissions.models import Submission
from tests.platform.conftest import NOON, FakeClock
from tests.platform.pages.conftest import submitted

BOARD = "/competitions/digits/leaderboards/model"
HISTORY = "/competitions/digits/history/model"
TEAM = "/teams/owls/history/model"

DAYS = [
    # team, days before noon, score: the Ants and the Owls tie at 2.0, the Bears overtake all, the Owls come back
    ("owls", 9, 1.25),
    ("ants", 8, 2.0),
    ("owls", 7, 2.0),
    ("bears", 6, 3.0),
    ("ants", 5, 0.5),
    ("owls", 2, 4.0),
]


@pytest.fixture
def season(shown: dict[str, Submission], the_clock: FakeClock) -> Track:
    """Three teams with six scores of models on as many days, and a new pool after the fifth."""
    first = shown["scored"]
    track, by = first.repository.track, first.submitted_by
    template = first.evaluations.get()
    repositories = {"owls": first.repository}
    for slug in ("ants", "bears"):
        team = Team.objects.create(slug=slug, name=slug.title(), created_at=NOON)
        entry = Entry.objects.create(team=team, competition=track.competition, joined_at=NOON)
        repositories[slug] = Repository.objects.create(entry=entry, track=track, created_at=NOON)
    later = Pool.objects.create(
        track=template.pool.track, number=2, made_at=NOON - timedelta(days=4), reason="a better one"
    )
    later.places.create(place=1, player=template.pool.players.get())
    Pool.objects.filter(pk=template.pool_id).update(made_at=NOON - timedelta(days=20))
    RulesVersion.objects.update(created_at=NOON - timedelta(days=20))
    type(template.sample_set).objects.update(imported_at=NOON - timedelta(days=20))
    for number, (slug, days, value) in enumerate(DAYS):
        made = first
        if number:
            made = submitted(repositories[slug], by, 10 + number, Submission.State.READY, title=f"Net {number}")
        evaluation = Evaluation.objects.get(pk=template.pk)
        evaluation.pk = evaluation.pk if made == first else None
        evaluation.submission = made
        evaluation.value, evaluation.low, evaluation.high = value, value - 0.25, value + 0.25
        evaluation.finished_at = NOON - timedelta(days=days)
        evaluation.pool = later if days < 4 else template.pool
        evaluation.save()
    recompute(track)
    return track


def table(client: Client, address: str) -> list[dict[str, str]]:
    answer = client.get(address)
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def at(days: float) -> str:
    return f"{NOON - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"


def test_the_replayed_leaderboard_equals_the_past_one_at_every_time(season: Track) -> None:
    times = [NOON - timedelta(hours=6 * number) for number in range(40, 0, -1)]
    for when, rows in zip(times, history_of(season, None).at(times, 100), strict=True):
        found = {row.evaluation: rank for row, rank in rows}
        past = [(row.submission, row.rank) for row in board_at(season, when).rows() if row.rank is not None]
        submissions = dict(Evaluation.objects.filter(pk__in=found).values_list("pk", "submission"))
        assert {submissions[key]: rank for key, rank in found.items()} == dict(past), when


def test_a_team_has_its_score_and_its_rank_over_time(client: Client, season: Track) -> None:
    scores = table(client, f"{TEAM}/score.csv")
    assert [(row["time"], float(row["score"])) for row in scores] == [
        (at(9), 1.25), (at(7), 2.0), (at(2), 4.0), (at(0), 4.0)
    ]  # fmt: skip
    assert (scores[0]["low"], scores[0]["high"], scores[0]["title"]) == ("1.0", "1.5", "Owl 1")
    ranks = [(row["time"], row["rank"]) for row in table(client, f"{TEAM}/rank.csv")]
    # second behind the Ants, then tied with them, behind the Bears, without a rank under the new pool, first there
    assert ranks == [
        (at(9), "1"), (at(8), "2"), (at(7), "1"), (at(6), "2"), (at(4), ""), (at(2), "1"), (at(0), "1")
    ]  # fmt: skip
    page = client.get("/teams/owls").content.decode()
    assert 'id="score-model"' in page
    assert 'id="rank-model"' in page
    assert "score-untargeted" not in page
    assert page.index('id="standings"') < page.index('id="history"') < page.index('id="submissions"')


def test_every_plotted_value_is_in_the_csv_file(client: Client, season: Track) -> None:
    page = client.get("/teams/owls").content.decode()
    figure = page.split('id="rank-model"')[1].split("</figure>")[0]
    path = re.search(r'chart-line chart-1" d="([^"]+)"', figure)
    assert path
    assert path[1].count("M") == 2, "interrupted while the score is of the earlier pool"
    rows = table(client, f"{TEAM}/rank.csv")
    start, end = (datetime.fromisoformat(rows[number]["time"]) for number in (0, -1))
    scale, ranks = TimeScale(start, end), RankScale(2)
    expected = ""
    held = ""
    for row in rows:
        x = LEFT + (RIGHT - LEFT) * scale.at(datetime.fromisoformat(row["time"]).timestamp())
        if not row["rank"]:
            expected += f"H{x:.2f}V{held}"
            held = ""
            continue
        y = f"{BOTTOM - (BOTTOM - TOP) * ranks.at(int(row['rank'])):.2f}"
        expected += f"H{x:.2f}V{y}" if held else f"M{x:.2f} {y}"
        held = y
    assert path[1] == expected


def test_the_best_scores_start_again_with_a_new_pool(client: Client, season: Track) -> None:
    rows = table(client, f"{HISTORY}/best.csv")
    title = season.title
    best = [(row["time"], row[title]) for row in rows]
    assert best == [
        (at(9), "1.25"), (at(8), "2.0"), (at(6), "3.0"), (at(4), ""), (at(2), "4.0"), (at(0), "4.0")
    ]  # fmt: skip
    assert rows[2][f"title in {title}"] == "Net 3 by Bears"
    assert "pool 2" in rows[3]["event"]
    page = client.get(HISTORY).content.decode()
    assert page.count('class="chart-event"') == 1
    assert f"{HISTORY}/best.csv" in page


def test_the_first_teams_have_their_ranks_at_each_moment(client: Client, season: Track) -> None:
    Evaluation.objects.update(pool=Pool.objects.get(number=2))
    Pool.objects.filter(number=2).update(made_at=NOON - timedelta(days=20))
    rows = table(client, f"{HISTORY}/top.csv")
    assert list(rows[0]) == ["time", "The Owls", "Bears", "Ants"]
    assert [rows[0][name] for name in rows[0]][1:] == ["1", "", ""]
    assert [rows[-1][name] for name in rows[-1]][1:] == ["1", "2", "3"]
    figure = client.get(HISTORY).content.decode().split('id="top"')[1].split("</figure>")[0]
    dots = re.findall(r'chart-dots[^"]+" d="([^"]+)"', figure)
    assert sum(each.count("M") for each in dots) == sum(bool(row[name]) for row in rows for name in list(row)[1:])


def test_nothing_is_newer_than_a_freeze(client: Client, season: Track, bob: User, olga: User) -> None:
    since = NOON - timedelta(days=6, hours=12)
    FrozenLeaderboards.objects.create(competition=season.competition, since=since)
    addresses = [f"{TEAM}/score.csv", f"{TEAM}/rank.csv", f"{HISTORY}/best.csv", f"{HISTORY}/top.csv"]
    for user in (None, bob):
        if user:
            client.force_login(user)
        for address in addresses:
            rows = table(client, address)
            assert max(row["time"] for row in rows) == f"{since:%Y-%m-%dT%H:%M:%SZ}", address
            text = client.get(address).content.decode()
            assert "4.0" not in text
            assert "Bears" not in text
        assert client.get("/teams/bears/history/model/score.csv").status_code == 404
        page = client.get(HISTORY).content.decode()
        assert "Bears" not in page
        assert "pool 2" not in page
        assert "leaderboards are frozen" in page
    client.force_login(olga)
    assert table(client, addresses[0])[-1]["score"] == "4.0"


def test_withdrawn_submissions_are_missing_and_models_that_were_not_broken_have_no_number(
    client: Client, season: Track
) -> None:
    Submission.objects.filter(title="Net 2").update(state=Submission.State.WITHDRAWN)
    Evaluation.objects.filter(value=4.0).update(held=6)
    rows = table(client, f"{TEAM}/score.csv")
    assert [(row["score"], row["not broken"]) for row in rows] == [("1.25", ""), ("", "yes"), ("", "yes")]
    assert "(not broken)" in client.get(f"{HISTORY}/best.csv").content.decode()


def test_rows_of_a_leaderboard_have_a_sparkline_where_there_are_two_scores(client: Client, season: Track) -> None:
    with CaptureQueriesContext(connection) as before:
        page = client.get(BOARD).content.decode()
    assert page.count('class="spark"') == 2, "the Owls and the Ants; the Bears have one score"
    assert 'href="/teams/owls#history"' in page
    for number in range(5):
        team = Team.objects.create(slug=f"more-{number}", name=f"More {number}", created_at=NOON)
        entry = Entry.objects.create(team=team, competition=season.competition, joined_at=NOON)
        repository = Repository.objects.create(entry=entry, track=season, created_at=NOON)
        made = submitted(repository, User.objects.all()[0], 30 + number, Submission.State.READY)
        evaluation = Evaluation.objects.get(submission__title="Net 5")
        evaluation.pk, evaluation.submission = None, made
        evaluation.save()
    recompute(season)
    with CaptureQueriesContext(connection) as after:
        client.get(BOARD)
    assert len(after) == len(before)


def test_a_sparkline_shows_no_score_after_a_freeze(client: Client, season: Track) -> None:
    since = NOON - timedelta(days=7, hours=12)
    kept = take_snapshot(track=season, reason="before the final")
    type(kept).objects.filter(pk=kept.pk).update(made_at=since)
    FrozenLeaderboards.objects.create(competition=season.competition, since=since)
    assert 'class="spark"' not in client.get(BOARD).content.decode()


def test_a_track_without_scores_has_no_charts(client: Client, season: Track) -> None:
    assert "No submission" not in client.get(HISTORY).content.decode()
    assert client.get("/competitions/digits/history/targeted/top.csv").status_code == 404
    assert client.get(f"{HISTORY}/nonsense.csv").status_code == 404
    assert client.get("/teams/owls/history/targeted/score.csv").status_code == 404
    Evaluation.objects.update(counts=False)
    assert "No submission has a score yet" in client.get(HISTORY).content.decode()
