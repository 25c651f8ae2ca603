"""Lists of submissions, their logs, and the person who asks."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Membership, User
from submissions.models import Build, LogChunk, Submission


@pytest.fixture
def logged(scored: Submission) -> Submission:
    """A submission whose first attempt was lost, and whose second has three lines."""
    at = scored.received_at
    Build.objects.create(submission=scored, attempt=1, worker="w", started_at=at, finished_at=at, outcome="lost")
    build = Build.objects.create(submission=scored, attempt=2, worker="w", started_at=at)
    for first, lines, stage, text in ((1, 2, "build", "one\ntwo"), (3, 1, "smoke", "three")):
        LogChunk.objects.create(build=build, stage=stage, first_line=first, lines=lines, text=text, at=at)
    return scored


def test_the_log_is_read_from_a_line_on(program: Any, logged: Submission, alice: User) -> None:
    client, address = program(alice, "read"), f"/api/v1/submissions/{logged.pk}/log"
    whole = client.get(address).json()
    assert [(line["number"], line["stage"], line["text"]) for line in whole["lines"]] == [
        (1, "build", "one"), (2, "build", "two"), (3, "smoke", "three"),
    ]  # fmt: skip
    assert (whole["attempt"], whole["last"], whole["over"]) == (2, 3, False)
    assert [line["number"] for line in client.get(f"{address}?after=2").json()["lines"]] == [3]
    Build.objects.update(finished_at=logged.received_at)
    assert client.get(f"{address}?after=3").json() == {"attempt": 2, "lines": [], "last": 3, "over": True}
    assert client.get(f"{address}?attempt=1").json() == {"attempt": 1, "lines": [], "last": 0, "over": True}
    Submission.objects.update(state="received")  # a platform error ended the attempt, and another one follows
    assert client.get(f"{address}?after=3").json()["over"] is False
    assert client.get(f"{address}?after=3&attempt=2").json()["over"] is True
    Submission.objects.update(state="ready")
    Build.objects.all().delete()
    assert client.get(address).json() == {"attempt": None, "lines": [], "last": 0, "over": False}


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("after=x", 400, "invalid"),
        ("after=-1", 400, "invalid"),
        ("after=" + "9" * 40, 400, "invalid"),
        ("after=²", 400, "invalid"),
        ("attempt=7", 404, "not-found"),
        ("attempt=99999999", 404, "not-found"),
    ],
)
def test_it_rejects_a_part_of_a_log_that_there_is_not(
    program: Any, logged: Submission, alice: User, query: str, status: int, code: str
) -> None:
    answer = program(alice).get(f"/api/v1/submissions/{logged.pk}/log?{query}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_submissions_are_listed_by_what_they_are(program: Any, scored: Submission) -> None:
    def listed(query: str) -> list[int]:
        return [row["number"] for row in program().get(f"/api/v1/submissions?{query}").json()["results"]]

    for query in ("", "team=owls", "track=model&state=ready", "competition=digits"):
        assert listed(query) == [scored.pk], query
    for query in ("team=doves", "track=untargeted", "state=rejected", "competition=letters"):
        assert listed(query) == [], query


def test_the_profile_is_that_of_the_token(program: Any, client: Any, scored: Submission, alice: User) -> None:
    shown = program(alice, "read").get("/api/v1/profile").json()
    assert (shown["username"], shown["teams"]) == ("alice", ["owls"])
    assert (shown["token"]["name"], shown["token"]["scopes"]) == ("program", ["read"])
    (team,) = program(alice, "read").get("/api/v1/profile/teams").json()["results"]
    assert (team["slug"], team["role"], team["competition"], "alice" in team["members"]) == (
        "owls", "captain", "digits", True,
    )  # fmt: skip
    assert team["tracks"][0]["repository"] == "http://testserver/git/owls/model.git"
    client.force_login(alice)
    assert client.get("/api/v1/profile").json()["token"] is None


def test_it_rejects_the_token_of_a_person_who_left_the_team(program: Any, scored: Submission, bob: User) -> None:
    client = program(bob)
    Membership.objects.filter(user=bob).delete()
    answer = client.post(f"/api/v1/submissions/{scored.pk}/withdraw")
    assert (answer.status_code, answer.json()["code"]) == (403, "not-a-member")
    assert answer.json()["detail"] == "only members of The Owls can do this"
    assert answer.json()["fix"] == "ask the captain of The Owls to invite you, or send a token of a member"
    assert "commit" not in client.get(f"/api/v1/submissions/{scored.pk}").json()
    assert client.get("/api/v1/profile/teams").json()["results"] == []
