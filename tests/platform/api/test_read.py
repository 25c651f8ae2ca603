"""Read operations of the API and their permissions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.http import Http404

from accounts.models import AccessToken, User
from api import errors
from bench.synthetic_competition import fill
from competitions.models import Competition, Entry, FreezeWindow, SampleSet, Track
from evaluation import __version__
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.scoring import recompute
from repositories.models import Repository
from submissions.models import Submission

PROBLEM = {"type", "title", "status", "code", "detail", "fix", "accepted_from"}
INSIDE = {"commit", "tag", "submitted_by", "problem", "slot", "builds"}
EVALUATION = [
    *(
        "state",
        "pool",
        "sample_set",
        "rules",
        "value",
        "low",
        "high",
        "samples",
        "failures",
        "met",
        "value_all",
        "samples_not_broken",
    ),
    *("clean_wrong", "worst_opponent", "per_opponent", "median_seconds", "mean_queries", "created_at", "finished_at"),
]


def test_the_data_set_says_where_its_public_samples_are(program: Any, scored: Submission) -> None:
    client = program()
    found = client.get("/api/v1/competitions/digits/data").json()
    assert (found["shape"], len(found["classes"])) == ([64, 64, 3], 10)
    assert client.get(found["development"]["archive"]).getvalue().startswith(b"PK")
    assert client.get(found["development"]["image"].format(sample=0)).headers["Content-Type"] == "image/png"
    assert found["validation"] == SampleSet.objects.get(name="validation").count


def test_its_first_address_lists_the_others(program: Any, db: None) -> None:
    answer = program().get("/api/v1/").json()
    assert answer["version"] == __version__
    assert "/api/v1/competitions/{slug}/leaderboards/{track_name}" in answer["addresses"]
    assert "/api/v1/submissions/{number}" in answer["addresses"]


def test_anyone_reads_a_competition_its_leaderboard_and_a_scored_submission(program: Any, scored: Submission) -> None:
    anyone = program()
    assert [each["slug"] for each in anyone.get("/api/v1/competitions").json()["results"]] == ["digits"]
    competition = anyone.get("/api/v1/competitions/digits").json()
    assert [track["name"] for track in competition["tracks"]] == ["model", "untargeted", "targeted"]
    assert competition["rules"]["values"]["query_budget"] == 50
    assert {"name": "validation", "purpose": "validation", "count": 6} in competition["sample_sets"]
    board = anyone.get("/api/v1/competitions/digits/leaderboards/model").json()
    assert (board["page"], board["pages"], board["total"]) == (1, 1, 1)
    row = board["rows"][0]
    assert (row["rank"], row["team"], row["value"], row["submission"]) == (1, "owls", 0.5, scored.pk)
    assert (row["provisional"], row["pool"], board["frozen_since"]) == (False, 1, None)
    assert {"rank_low", "rank_high", "met", "opponents", "value_all", "samples_not_broken", "clean_wrong"} <= row.keys()
    shown = anyone.get(f"/api/v1/submissions/{scored.pk}").json()
    assert shown["evaluation"]["value"] == 0.5
    assert not shown.keys() & INSIDE


def test_a_page_of_a_leaderboard_has_a_hundred_rows(
    program: Any, scored: Submission, competition: Competition, tracks: dict[str, Track]
) -> None:
    fill(competition, Pool.objects.get(track=tracks["untargeted"]), 100)
    recompute(tracks["model"])
    address = "/api/v1/competitions/digits/leaderboards/model"
    pages = [program().get(f"{address}?page={number}").json() for number in (1, 2)]
    assert [(page["pages"], page["total"], len(page["rows"])) for page in pages] == [(2, 101, 100), (2, 101, 1)]


def test_fields_keep_their_order(program: Any, scored: Submission, alice: User) -> None:
    board = program().get("/api/v1/competitions/digits/leaderboards/model").json()
    assert list(board) == ["page", "pages", "total", "at", "frozen_since", "frozen_reason", "rows"]
    assert list(board["rows"][0]) == [
        *("rank", "rank_low", "rank_high", "change", "team", "team_name", "ineligible_for_prizes", "submission"),
        *("title", "value", "low", "high", "samples", "failures", "met", "opponents", "value_all"),
        "samples_not_broken",
        *("clean_wrong", "worst_opponent", "median_seconds", "rules", "pool", "provisional", "chosen"),
        *("tried", "expected_gain", "scored_at"),
    ]
    public = program().get(f"/api/v1/submissions/{scored.pk}").json()
    assert list(public) == [
        *("number", "competition", "team", "track", "title", "state", "received_at", "disqualified_at"),
        "baseline_at",
        *("progress", "evaluation", "standing", "runs", "best_known"),
    ]
    assert list(public["evaluation"]) == EVALUATION
    assert (public["standing"], public["runs"]) == (None, None), "fields of other formats are null"
    own = program(alice).get(f"/api/v1/submissions/{scored.pk}").json()
    assert own.keys() - public.keys() == {
        *("commit", "tag", "licence", "submitted_by", "state_since", "cause", "reason", "problem", "fix"),
        *("disqualified_for", "baseline_for", "hidden_at", "hidden_for", "given_title", "slot", "builds"),
    }


def test_the_samples_of_a_round_are_not_listed(program: Any, sample_sets: dict[str, SampleSet]) -> None:
    drawn = sample_sets["validation"]
    drawn.pk, drawn.name, drawn.drawn_from = None, "round-1", SampleSet.objects.get(name="validation")
    drawn.save()
    listed = program().get("/api/v1/competitions/digits").json()["sample_sets"]
    assert [each["name"] for each in listed] == ["development", "validation"]


VISIBLE = {
    # user: (team part of a submission, quota, a competition that is not public)
    "nobody": (False, 401, 404),
    "charlie": (False, 403, 404),
    "alice": (True, 200, None),
    "bob": (True, 200, None),
    "olga": (True, 403, 200),
}


@pytest.mark.parametrize("name", VISIBLE)
def test_who_sees_what(program: Any, scored: Submission, olga: User, charlie: User, name: str) -> None:
    client = program(User.objects.filter(username=name).first(), "read")
    inside, quota, hidden = VISIBLE[name]
    shown = client.get(f"/api/v1/submissions/{scored.pk}").json()
    assert shown.keys() >= INSIDE if inside else not INSIDE & shown.keys()
    assert client.get("/api/v1/repositories/owls/model/quota").status_code == quota
    Competition.objects.update(public=False)
    if hidden is not None:
        for page in ("competitions/digits", "competitions/digits/leaderboards/model", f"submissions/{scored.pk}"):
            assert client.get(f"/api/v1/{page}").status_code == hidden


def test_numbers_that_an_attack_influences_are_rounded_as_on_the_page(
    program: Any, client: Any, scored: Submission
) -> None:
    evaluation = Evaluation.objects.get()
    row = {"player": evaluation.worst_opponent_id, "median": 1.23456789, "failures": 0}
    ended = evaluation.created_at.replace(microsecond=123456)
    Evaluation.objects.update(
        value=9.87654321, low=9.87, high=9.8799999, value_all=9.87777777, median_seconds=0.0123456,
        mean_queries=812.3456, per_opponent=[row], finished_at=ended,
    )  # fmt: skip
    shown = program().get(f"/api/v1/submissions/{scored.pk}").json()["evaluation"]
    assert (shown["value"], shown["low"], shown["high"], shown["value_all"]) == (9.877, 9.87, 9.88, 9.878)
    assert (shown["median_seconds"], shown["mean_queries"]) == (0.012, 812)
    assert shown["per_opponent"] == [{**row, "title": "Wise owl", "median": 1.235}]
    assert "." not in shown["finished_at"]
    line = program().get("/api/v1/competitions/digits/leaderboards/model").json()["rows"][0]
    assert (line["value"], line["median_seconds"], "." in line["scored_at"]) == (9.877, 0.012, False)
    page = client.get(f"/submissions/{scored.pk}").content.decode()
    for shown_text in ("<b>9.877</b>", "<dd>12 ms</dd>", "<dd>812 ", ">1.235</td>"):
        assert shown_text in page
    assert "1.2345" not in page


def test_a_session_can_read(client: Any, scored: Submission, alice: User, the_clock: Any) -> None:
    client.force_login(alice)
    quota = client.get("/api/v1/repositories/owls/model/quota").json()
    assert quota == {"quota": 5, "used": 0, "left": 5, "frees_at": [], "next_at": None}


def test_reading_makes_no_repository(client: Any, entry: Entry, tracks: dict[str, Track], alice: User) -> None:
    client.force_login(alice)
    for part in ("quota", "submissions"):
        assert client.get(f"/api/v1/repositories/owls/model/{part}").status_code == 200
    assert not Repository.objects.filter(entry=entry).exists()


BAD_TOKENS = {
    "unknown": (401, "token-unknown", "copy the whole token"),
    "empty": (401, "token-unknown", "create one"),
    "expired": (401, "token-expired", "create another one"),
    "revoked": (401, "token-revoked", "create another one"),
    "closed": (401, "account-inactive", "ask the organisers"),
    "scope": (403, "scope-missing", "with the scope 'read'"),
}
"""The status, the code, and a part of the fix of each flaw of a token."""


@pytest.mark.parametrize("flaw", BAD_TOKENS)
def test_it_rejects_a_bad_token(program: Any, alice: User, competition: Competition, flaw: str) -> None:
    client = program(alice, "submit" if flaw == "scope" else "read")
    token = AccessToken.objects.get()
    if flaw in {"unknown", "empty"}:
        client.credentials(HTTP_AUTHORIZATION="Bearer gtl_guessed" if flaw == "unknown" else "Bearer ")
    elif flaw == "expired":
        AccessToken.objects.update(expires_at=token.created_at - timedelta(days=1))
    elif flaw == "revoked":
        AccessToken.objects.update(revoked_at=token.created_at)
    elif flaw == "closed":
        User.objects.update(is_active=False)
    response = client.get("/api/v1/competitions")
    status, code, fix = BAD_TOKENS[flaw]
    assert (response.status_code, response.headers["Content-Type"]) == (status, "application/problem+json")
    assert response.headers.get("WWW-Authenticate") == ("Bearer" if status == 401 else None)
    problem = response.json()
    assert problem.keys() == PROBLEM
    assert (problem["status"], problem["code"], problem["type"]) == (status, code, f"/docs/api#{code}")
    assert fix in problem["fix"]
    assert problem["detail"]


@pytest.mark.parametrize(
    ("page", "what"),
    [
        ("competitions/nowhere", "competition"),
        ("competitions/digits/leaderboards/nothing", "track"),
        ("competitions/digits/rounds/99", "round"),
        ("submissions/999999", "submission"),
        ("repositories/nobody/model/quota", "team"),
        ("repositories/owls/nothing/quota", "track"),
    ],
)
def test_it_rejects_missing_objects(program: Any, alice: User, scored: Submission, page: str, what: str) -> None:
    response = program(alice).get(f"/api/v1/{page}")
    assert response.status_code == 404
    answer = response.json()
    assert (answer["detail"], answer["accepted_from"]) == (f"there is no such {what}", None)
    assert "/api/v1/competitions lists the competitions" in answer["fix"]


def test_no_text_of_django_is_an_answer() -> None:
    response = errors.answer(Http404("No Track matches the given query."), {})
    assert response is not None
    assert (response.status_code, response.data["detail"]) == (404, "not found")


def test_it_rejects_too_many_requests(program: Any, competition: Competition) -> None:
    anyone = program()
    codes = [anyone.get("/api/v1/competitions").status_code for _ in range(61)]
    assert codes == [200] * 60 + [429]
    refused = anyone.get("/api/v1/competitions")
    assert (refused.json()["code"], refused.json()["accepted_from"] is not None) == ("throttled", True)
    assert 0 < int(refused.headers["Retry-After"]) <= 60


def test_freeze_windows_are_listed(program: Any, competition: Competition) -> None:
    FreezeWindow.objects.create(
        competition=competition, starts_at=competition.starts_at, ends_at=competition.ends_at, reason="round 1"
    )
    FreezeWindow.objects.create(
        competition=competition,
        starts_at=competition.starts_at,
        ends_at=competition.ends_at,
        reason="called off",
        called_off_at=competition.starts_at,
    )
    windows = program().get("/api/v1/competitions/digits").json()["freeze_windows"]
    assert [window["reason"] for window in windows] == ["round 1"]
