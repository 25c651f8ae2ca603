"""Requests that nobody can answer: each gets a problem document with the cause and what to do."""

from __future__ import annotations

from typing import Any, NamedTuple

from accounts.models import User
from pages.site.body_limit import MOST_BYTES
from submissions.models import Submission

BOARD = "competitions/digits/leaderboards/model"
SUBMIT = "repositories/owls/model/submissions"


class BadRequest(NamedTuple):
    """A request below `/api/v1/`, its status and code, and a part of the cause or the fix."""

    path: str
    status: int
    code: str
    says: str
    body: Any = None
    media_type: str = "application/json"


REQUESTS = [
    BadRequest(f"{BOARD}?at=yesterday", 400, "rejected", "write it as 2026-11-23 or 2026-11-23T12:00Z"),
    BadRequest(f"{BOARD}?at=2026-13-01", 400, "rejected", "the time 2026-13-01 cannot be read"),
    BadRequest(f"{BOARD}?page=0", 400, "invalid", "page: use a whole number from 1"),
    BadRequest(f"{BOARD}?page=99999999999999999999", 400, "invalid", "page: use a whole number from 1"),
    BadRequest("submissions?cursor=x", 400, "invalid", "cursor: use the address of `next` or `previous`"),
    BadRequest("submissions?cursor=cD1hYmM=", 400, "invalid", "cursor: use the address of `next` or `previous`"),  # abc
    BadRequest("submissions?page_size=many", 400, "invalid", "page_size: use a whole number from 1"),
    BadRequest("submissions?state=nothing", 400, "invalid", "state: use one of received"),
    BadRequest("submissions/1/log?after=-1", 400, "invalid", "after: use a whole number from 0"),
    BadRequest(SUBMIT, 400, "invalid", "send JSON", "{"),
    BadRequest(SUBMIT, 400, "invalid", "nested too deeply", "[" * 4000),
    BadRequest(SUBMIT, 400, "invalid", "nested too deeply", '{"commit":' * 4000),
    BadRequest(SUBMIT, 400, "invalid", "correct the value", "[]"),
    BadRequest(SUBMIT, 400, "invalid", "tag: unknown; the body may have commit", '{"commit": "1", "tag": "x"}'),
    BadRequest(SUBMIT, 400, "invalid", "commit: use a string", '{"commit": 1}'),
    BadRequest(SUBMIT, 400, "invalid", "?: unknown; the body may have commit", '{"\\ud800": "1"}'),
    BadRequest(SUBMIT, 400, "invalid", "nested too deeply", "[" * 100_000),
    BadRequest(SUBMIT, 413, "invalid", "send less at a time", " " * (MOST_BYTES + 1)),
    BadRequest(SUBMIT, 415, "unsupported-media-type", "send JSON", "commit=1", "application/x-www-form-urlencoded"),
]


def test_each_is_a_problem_with_its_cause_and_fix(program: Any, alice: User, scored: Submission) -> None:
    client = program(alice)
    for each in REQUESTS:
        path = f"/api/v1/{each.path}"
        answer = client.get(path) if each.body is None else client.post(path, each.body, content_type=each.media_type)
        assert answer.headers["Content-Type"] == "application/problem+json", each
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (each.status, each.code), (each.path, problem)
        assert each.says in f"{problem['detail']}; {problem['fix']}", each.path
        assert all([problem["detail"], problem["fix"]]), each.path
    assert Submission.objects.count() == 1


def test_a_page_is_limited_and_json_whatever_is_asked_for(program: Any, scored: Submission) -> None:
    for accept in ("text/html", "application/xml", "nothing", "*/*;q=x"):
        answer = program().get("/api/v1/submissions?page_size=1000000", headers={"accept": accept})
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json"), accept
        assert [row["number"] for row in answer.json()["results"]] == [scored.pk]
