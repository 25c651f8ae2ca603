"""The OpenAPI document is valid, and every operation in it answers as it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from accounts import device_login
from accounts.models import AccessToken, User
from api import errors
from formats.query.challenges.models import Challenge
from formats.query.matches.models import Match
from rounds.models import Objection, Round
from submissions.models import Submission
from tests.platform.api.openapi import check_answer, document


class Operation(NamedTuple):
    """An operation of the document: its method and its address."""

    method: str
    path: str


def operations(described: dict[str, Any]) -> Iterator[Operation]:
    """Yield every operation; those that change something come last, and the withdrawal after all others."""
    yield from sorted(Operation(method, path) for path, methods in described["paths"].items() for method in methods)


@pytest.fixture
def arguments(
    scored: Submission, match: Match, played: Round, challenged: Challenge, commit: str, alice: User,
    of_the_team: dict[str, Any],
) -> dict[str, str]:  # fmt: skip
    """One of everything, by the names in the addresses."""
    Round.objects.update(state=Round.State.PUBLISHED)
    team, at = scored.repository.entry.team, played.planned_at
    objection = Objection.objects.create(round=played, team=team, text="Wrong.", made_at=at, made_by=alice)
    return {
        "slug": "digits", "track_name": "model", "team": "owls", "number": str(scored.pk), "key": str(match.pk),
        "submission": str(scored.pk), "attempt": "1", "sample": "0", "name": "clean", "proof": "1",
        "challenge": str(challenged.pk), "objection": str(objection.pk),
        **{name: str(value) for name, value in of_the_team.items()},
    }  # fmt: skip


def test_it_is_valid_and_complete(client: APIClient, tmp_path: Path, db: None) -> None:
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(tmp_path / "openapi.yaml"))
    described = document(client)
    index = client.get("/api/v1/").json()
    pages = {"/api/v1/openapi.json", "/api/v1/docs"}
    assert set(index["addresses"]) - pages == set(described["paths"])
    assert index["openapi"] == "http://testserver/api/v1/openapi.json"
    assert all(each["description"] for methods in described["paths"].values() for each in methods.values())


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("name", ["alice", "charlie", "nobody", "olga"])
def test_every_operation_answers_each_role_as_the_document_says(
    program: Any, arguments: dict[str, str], charlie: User, olga: User, commit: str, name: str
) -> None:
    client = program(User.objects.filter(username=name).first())
    described = document(client)
    bodies = {"submit": {"commit": commit}, "challenge": {"opponent": "gaussian-noise"}}
    statuses = set()
    for operation in operations(described):
        path = re.sub(r"{(\w+)}", lambda found: arguments[found[1]], operation.path)
        if "/rounds/" in path:
            path = path.replace(f"/rounds/{arguments['number']}", "/rounds/1")
        described_as = described["paths"][operation.path][operation.method]["operationId"]
        body = bodies.get(described_as, {}) if operation.method == "post" else None
        response = getattr(client, operation.method)(path, body, format="json")
        assert response.status_code < 500, path
        check_answer(described, operation.path, operation.method, response)
        statuses.add(response.status_code)
    assert (201 in statuses) == (name == "alice")
    assert statuses <= {200, 201, 400, 401, 403, 404, 409}


def test_every_code_has_a_heading_in_the_manual(root: Path) -> None:
    manual = (root / "docs/api.md").read_text()
    headings = set(re.findall(r"^### ([a-z-]+)$", manual, re.MULTILINE))
    source = (root / "platform/accounts/services.py").read_text()
    of_tokens = set(re.findall(r'"((?:token|account|scope)-[a-z]+)"', source))
    own = {errors.REJECTED, errors.REJECTED_FOR_NOW, errors.WRONG_STATE, errors.PLATFORM_ERROR}
    own |= {"not-a-member", "not-the-captain", "role-missing"}
    own |= {device_login.PENDING, device_login.SLOW_DOWN, device_login.EXPIRED, device_login.DENIED}
    assert headings == {code for code, _ in errors.KINDS.values()} | of_tokens | own


def test_an_answer_that_has_not_changed_is_sent_once(program: Any, scored: Submission) -> None:
    client = program()
    for address in ("/api/v1/competitions", f"/api/v1/submissions/{scored.pk}", "/api/v1/openapi.json"):
        first = client.get(address)
        again = client.get(address, headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b""), address
    Submission.objects.update(title="Another owl")
    changed = client.get(f"/api/v1/submissions/{scored.pk}", headers={"If-None-Match": first.headers["ETag"]})
    assert (changed.status_code, changed.json()["title"]) == (200, "Another owl")


def test_old_addresses_name_the_new_ones(client: Any, program: Any, alice: User, commit: str) -> None:
    response = client.get("/api/competitions/digits/leaderboards/model?page=2")
    assert response.status_code == 308
    assert response.headers["Location"] == "/api/v1/competitions/digits/leaderboards/model?page=2"
    assert {client.get(each).headers["Location"] for each in ("/api/", "/api/v1")} == {"/api/v1/"}
    old = program(alice).post("/api/repositories/owls/model/submissions", {"commit": commit}, format="json")
    assert (old.status_code, Submission.objects.count()) == (308, 0)
    made = program(alice).post(old.headers["Location"], {"commit": commit}, format="json")
    assert made.status_code == 201


@pytest.mark.parametrize("address", ["/api/nothing", "/api/v1/nothing", "/api/v1/x%00", "/api/v2/competitions"])
def test_it_rejects_an_unknown_address(client: Any, db: None, address: str) -> None:
    for method in (client.get, client.post):
        response = method(address)
        assert (response.status_code, response.headers["Content-Type"]) == (404, "application/problem+json")
        assert (response.json()["code"], response.json()["status"]) == ("not-found", 404)


def test_a_wrong_method_names_those_that_are_allowed(program: Any, alice: User) -> None:
    for address in ("/api/v1/competitions", "/api/v1/openapi.json"):
        wrong = program(alice).delete(address)
        allowed = wrong.headers["Allow"]
        assert (wrong.status_code, wrong.json()["code"], allowed) == (405, "method-not-allowed", "GET, HEAD, OPTIONS")


def test_the_page_loads_nothing_from_elsewhere(client: Any, db: None) -> None:
    response = client.get("/api/v1/docs")
    text = response.content.decode()
    assert "/static/swagger-ui/swagger-ui-bundle.js" in text
    assert not re.findall(r'(?:src|href)="https?://(?!testserver)', text)
    assert "style=" not in text
    assert AccessToken.objects.count() == 0
