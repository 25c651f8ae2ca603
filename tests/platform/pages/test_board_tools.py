"""Leaderboards: sorting, searching, filtering, past times, CSV and ages."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Team, User
from competitions.models import Entry, FrozenLeaderboards, RulesVersion, Track
from formats.query.leaderboards.models import Evaluation, Pool, Standing
from formats.query.leaderboards.scoring import recompute
from formats.query.leaderboards.snapshots_and_freezes import take_snapshot
from repositories.models import Repository
from submissions.models import Submission
from tests.platform.conftest import NOON, FakeClock
from tests.platform.pages.conftest import submitted

pytestmark = pytest.mark.usefixtures("others_read_first")

BOARD = "/competitions/digits/leaderboards/model"


@pytest.fixture
def three(shown: dict[str, Submission], the_clock: FakeClock) -> dict[str, Submission]:
    """The Owls and two other teams on the leaderboard of models, with the score, the time and the day of each."""
    first = shown["scored"]
    Evaluation.objects.update(clean_wrong=2, held=0, finished_at=NOON - timedelta(days=9))
    found = {"owls": first}
    for number, (slug, name, values) in enumerate(
        [
            ("bears", "Bears", {"value": 3.0, "low": 2.5, "high": 3.5, "median_seconds": 9.0, "clean_wrong": 0}),
            ("ants", "Ants", {"value": 2.0, "low": 1.5, "high": 2.5, "median_seconds": 1.0, "failures": 6}),
        ]
    ):
        team = Team.objects.create(slug=slug, name=name, created_at=NOON)
        entry = Entry.objects.create(
            team=team, competition=first.repository.entry.competition, joined_at=NOON, ineligible_for_prizes=number > 0
        )
        repository = Repository.objects.create(entry=entry, track=first.repository.track, created_at=NOON)
        made = submitted(repository, first.submitted_by, 1, Submission.State.READY, title=f"Net {number}")
        evaluation = first.evaluations.get()
        evaluation.pk, evaluation.submission = None, made
        evaluation.finished_at = NOON - timedelta(days=5 - number, hours=3)
        for name, value in values.items():
            setattr(evaluation, name, value)
        evaluation.save()
        found[slug] = made
    recompute(first.repository.track)
    return found


def teams_on(client: Client, query: str = "") -> list[str]:
    """Return the short names of the teams on the leaderboard, from the first row to the last."""
    page = client.get(BOARD + query).content.decode()
    return re.findall(r'class="cut" href="/teams/([^"]+)"', page)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ["bears", "ants", "owls"]),
        ("team", ["ants", "bears", "owls"]),
        ("-team", ["owls", "bears", "ants"]),
        ("score", ["owls", "ants", "bears"]),
        ("-accuracy", ["bears", "ants", "owls"]),
        ("-held", ["ants", "bears", "owls"]),
        ("time", ["ants", "owls", "bears"]),
        ("-scored", ["ants", "bears", "owls"]),
        ("opponent", ["bears", "ants", "owls"]),
        ("nonsense", ["bears", "ants", "owls"]),
    ],
)
def test_it_is_sorted_by_each_column(client: Client, three: dict[str, Submission], sort: str, order: list[str]) -> None:
    assert teams_on(client, f"?sort={sort}") == order


def test_rows_without_a_value_come_last(client: Client, three: dict[str, Submission]) -> None:
    three["bears"].evaluations.update(clean_wrong=None)
    assert teams_on(client, "?sort=accuracy")[-1] == "bears"
    assert teams_on(client, "?sort=-accuracy")[-1] == "bears"


def test_headings_lead_to_the_best_first_and_then_to_the_reverse(client: Client, three: dict[str, Submission]) -> None:
    page = client.get(BOARD).content.decode()
    assert 'href="?sort=-score">Score</a>' in page
    assert 'aria-sort="ascending"><a class="sort" href="?sort=rank">Rank' in page
    page = client.get(f"{BOARD}?sort=-score&q=a&page=1").content.decode()
    assert 'aria-sort="descending"><a class="sort" href="?sort=score&amp;q=a">Score' in page
    assert client.get(BOARD.replace("model", "targeted")).status_code == 200


def test_it_is_searched_and_filtered(client: Client, three: dict[str, Submission]) -> None:
    assert teams_on(client, "?q=BEAR") == ["bears"]
    assert teams_on(client, "?q=net") == ["bears", "ants"]
    assert teams_on(client, "?show=prizes") == ["bears", "owls"]
    assert "2 of 3 teams" in client.get(f"{BOARD}?show=prizes").content.decode()
    page = client.get(f"{BOARD}?q=nobody").content.decode()
    assert "No team fits" in page
    Pool.objects.create(track=Track.objects.get(name="untargeted"), number=2, made_at=NOON, reason="a better one")
    assert teams_on(client, "?show=ranked") == []


def test_a_filtered_board_keeps_its_ranks_and_its_axis(client: Client, three: dict[str, Submission]) -> None:
    page = client.get(f"{BOARD}?q=owl").content.decode()
    assert re.search(r'cell-rank">3', page)
    assert "axis from 0 to 4" in page, "to 3.5, the end of the longest interval of all rows"


def test_a_poll_keeps_what_was_chosen(client: Client, three: dict[str, Submission]) -> None:
    page = client.get(f"{BOARD}?sort=team&q=a").content.decode()
    again = page.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert client.get(again, headers={"HX-Request": "true"}).status_code == 204
    Evaluation.objects.filter(submission=three["ants"]).update(value=2.1)
    changed = client.get(again, headers={"HX-Request": "true"}).content.decode()
    assert re.findall(r'class="cut" href="/teams/([^"]+)"', changed) == ["ants", "bears"]


def test_the_age_of_a_score_is_no_change(client: Client, three: dict[str, Submission], the_clock: FakeClock) -> None:
    page = client.get(BOARD).content.decode()
    assert 'title="2026-11-17 09:00:00 UTC" data-ago>4 days ago</time>' in page
    again = page.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    the_clock.forward(days=3)
    assert "7 days ago" in client.get(BOARD).content.decode()
    assert client.get(again, headers={"HX-Request": "true"}).status_code == 204


def test_it_says_which_submission_counts(client: Client, three: dict[str, Submission]) -> None:
    page = client.get(BOARD).content.decode()
    assert "the newest scored one of each team, even if an older one was better" in page
    assert 'href="/competitions/digits/rules#version-1">version 1 of the rules</a>' in page
    assert 'href="/competitions/digits#pools">pool 1</a>' in page
    assert 'id="pools"' in client.get("/competitions/digits").content.decode()


def at(days: float) -> str:
    """Return `?at=` with the time this many days before noon."""
    return f"?at={NOON - timedelta(days=days):%Y-%m-%dT%H:%M}"


def test_it_is_shown_as_of_a_past_time(client: Client, three: dict[str, Submission]) -> None:
    assert teams_on(client, at(20)) == []
    assert "No submission had a score at that time" in client.get(BOARD + at(20)).content.decode()
    assert teams_on(client, at(8)) == ["owls"]
    assert teams_on(client, at(5)) == ["bears", "owls"]
    page = client.get(BOARD + at(5)).content.decode()
    assert re.search(r"<b>As of <time [^>]*>16 Nov 2026, 12:00 UTC</time></b>", page)
    assert "data-live" not in page, "it does not change"
    assert teams_on(client, "?at=2026-11-13") == ["owls"]
    assert teams_on(client, "?at=2026-11-16T14:00%2B02:00") == ["bears", "owls"]
    assert teams_on(client, at(-1)) == ["bears", "ants", "owls"], "a time to come is now"


def test_a_past_board_has_the_submission_of_that_time(client: Client, three: dict[str, Submission]) -> None:
    old = three["bears"]
    newer = submitted(old.repository, old.submitted_by, 9, Submission.State.READY, title="Newer")
    evaluation = old.evaluations.get()
    evaluation.pk, evaluation.submission = None, newer
    evaluation.value, evaluation.finished_at = 0.5, NOON - timedelta(hours=1)
    evaluation.save()
    recompute(old.repository.track)
    assert teams_on(client) == ["ants", "owls", "bears"]
    assert teams_on(client, at(1)) == ["bears", "ants", "owls"]
    assert "Newer" not in client.get(BOARD + at(1)).content.decode()


def test_ranks_of_a_past_board_are_on_the_basis_of_that_time(
    client: Client, three: dict[str, Submission], rules: RulesVersion
) -> None:
    later = NOON - timedelta(hours=2)
    RulesVersion.objects.create(competition=rules.competition, version=2, values=rules.values, created_at=later)
    assert "No rank" in client.get(BOARD).content.decode()
    page = client.get(BOARD + at(1)).content.decode()
    assert "No rank" not in page
    assert re.findall(r'cell-rank">(\d)', page) == ["1", "2", "3"]


def test_a_withdrawn_submission_is_on_no_past_board(client: Client, three: dict[str, Submission]) -> None:
    Submission.objects.filter(pk=three["bears"].pk).update(state=Submission.State.WITHDRAWN)
    assert teams_on(client, at(1)) == ["ants", "owls"]


def test_no_past_time_shows_what_a_freeze_hides(client: Client, three: dict[str, Submission], olga: User) -> None:
    track = three["owls"].repository.track
    kept = take_snapshot(track=track, reason="before the final")
    since = NOON - timedelta(days=4.5)
    type(kept).objects.filter(pk=kept.pk).update(
        made_at=since, rows=[row for row in kept.rows if row["team"] != "Ants"]
    )
    FrozenLeaderboards.objects.create(competition=track.competition, since=since)
    for query in ("", at(4), at(1), "?sort=team", "?q=a"):
        page = client.get(BOARD + query).content.decode()
        assert "/teams/ants" not in page, query
        assert "leaderboards are frozen" in page
    assert "Ants" not in client.get(f"{BOARD}.csv{at(1)}").content.decode()
    assert teams_on(client, at(8)) == ["owls"], "what was known before stays public"
    client.force_login(olga)
    assert teams_on(client, at(1)) == ["bears", "ants", "owls"]


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "2026-02-30T12:00"])
def test_it_rejects_what_is_no_time(client: Client, three: dict[str, Submission], text: str) -> None:
    answer = client.get(BOARD, {"at": text})
    assert answer.status_code == 400
    assert f"The time {text} cannot be read. Write it as 2026-11-23" in answer.content.decode()
    assert client.get(f"{BOARD}.csv", {"at": text}).status_code == 400


def table_of(client: Client, query: str = "") -> list[dict[str, Any]]:
    """Return the rows of the CSV."""
    answer = client.get(f"{BOARD}.csv{query}")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="digits-model.csv"'
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_the_csv_has_the_values_of_the_api(client: Client, three: dict[str, Submission]) -> None:
    rows = table_of(client)
    known = client.get(f"/api/v1{BOARD}").json()["rows"]
    assert [row["team"] for row in rows] == ["bears", "ants", "owls"]
    assert set(rows[0]) == set(known[0])
    for row, expected in zip(rows, known, strict=True):
        for name, value in expected.items():
            if name == "scored_at":
                assert datetime.fromisoformat(row[name]) == datetime.fromisoformat(value).astimezone(UTC)
            else:
                assert row[name] == ("" if value is None else str(value)), name
    assert [row["team"] for row in table_of(client, at(8))] == ["owls"]


def test_the_csv_has_no_formulas(client: Client, three: dict[str, Submission]) -> None:
    Submission.objects.filter(pk=three["bears"].pk).update(title='=HYPERLINK("x")')
    assert table_of(client)[0]["title"] == '\'=HYPERLINK("x")'


@pytest.mark.parametrize("query", ["", "?sort=team", "?q=o", at(1), ".csv", f".csv{at(1)}"])
def test_queries_do_not_grow_with_rows(client: Client, three: dict[str, Submission], query: str) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert client.get(BOARD + query).status_code == 200
        return len(seen)

    before = queries()
    first = three["owls"]
    for number in range(20):
        team = Team.objects.create(slug=f"team-{number}", name=f"Team {number}", created_at=NOON)
        entry = Entry.objects.create(team=team, competition=first.repository.entry.competition, joined_at=NOON)
        repository = Repository.objects.create(entry=entry, track=first.repository.track, created_at=NOON)
        made = submitted(repository, first.submitted_by, 1, Submission.State.READY)
        evaluation = first.evaluations.get()
        evaluation.pk, evaluation.submission = None, made
        evaluation.save()
    recompute(first.repository.track)
    assert Standing.objects.count() == 23
    assert queries() == before


def test_rows_are_selected_for_comparison_with_a_plain_form(client: Client, three: dict[str, Submission]) -> None:
    page = client.get(BOARD).content.decode()
    assert '<form class="compare" id="compare" action="/competitions/digits/curves/model"' in page
    boxes = re.findall(r'<input type="checkbox" name="submission" value="(\d+)" form="compare"', page)
    assert boxes == [str(three[team].pk) for team in ("bears", "ants", "owls")]
    assert 'aria-label="Compare Bears: Net 0"' in page
    live = client.get(f"{BOARD}?seen=other", headers={"HX-Request": "true"}).content.decode()
    assert f'id="compare-{three["owls"].pk}"' in live
    assert live.count(" hx-preserve>") == 3, "a new row leaves the selection as it is"
    assert "<form" not in live


def test_rows_of_a_past_board_are_not_compared(client: Client, three: dict[str, Submission]) -> None:
    page = client.get(BOARD + at(1)).content.decode()
    assert 'name="submission"' not in page
    assert 'id="compare"' not in page


@pytest.mark.parametrize("text", ["0001-01-01", "0001-01-01T00:00+14:00", "1969-12-31"])
def test_a_time_before_all_calendars_is_no_error_of_the_site(
    client: Client, three: dict[str, Submission], text: str
) -> None:
    client.cookies["gauntlet_time_zone"] = "America/New_York"
    assert client.get(BOARD, {"at": text}).status_code == 400
    assert client.get(f"{BOARD}.csv", {"at": text}).status_code == 400
