"""Requests drawn from the OpenAPI document: none ends in a server error, or an answer that it does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from accounts.models import User
from accounts.services import issue_token
from formats.query.challenges.models import Challenge
from formats.query.matches.models import Match
from rounds.models import Objection, Release, Round
from submissions.models import Submission

if TYPE_CHECKING:
    from schemathesis import Case

REQUESTS = 6
"""To each operation, each by several people."""

EXPECTATIONS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
)
"""What schemathesis checks of each answer."""


@pytest.fixture(autouse=True)
def _requests_leave_the_connection_open() -> Iterator[None]:
    """The transaction of the test is in it. Django's own client does the same."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def arguments(
    scored: Submission, match: Match, played: Round, challenged: Challenge, alice: User, of_the_team: dict[str, Any]
) -> dict[str, Any]:
    """One of everything, by the names in the addresses."""
    Round.objects.update(state=Round.State.PUBLISHED)
    team, at = scored.repository.entry.team, played.planned_at
    # there is no outcome to make it of
    Release.objects.create(round=played, part=Release.Part.BUNDLE, released_at=at, released_by=alice)
    objection = Objection.objects.create(round=played, team=team, text="Wrong.", made_at=at, made_by=alice)
    return {
        "slug": "digits", "track_name": "model", "team": "owls", "number": scored.pk, "key": str(match.pk),
        "submission": scored.pk, "attempt": 1, "sample": 0, "name": "clean", "proof": 1,
        "challenge": challenged.pk, "objection": objection.pk, **of_the_team,
    }  # fmt: skip


@pytest.mark.usefixtures("unlimited")
@pytest.mark.slow(8)
def test_every_answer_to_a_generated_request_is_documented(arguments: dict[str, Any], alice: User, olga: User) -> None:
    # half a second of processor time, which no other test needs
    import schemathesis  # noqa: PLC0415
    from schemathesis.checks import CHECKS  # noqa: PLC0415
    from schemathesis.core.result import Ok  # noqa: PLC0415

    headers = {"nobody": {"Accept-Encoding": "identity"}}
    for user in (alice, olga):
        token = issue_token(user=user, name="x", scopes=("read", "submit", "team", "organise"), days=1)[1]
        headers[user.username] = {**headers["nobody"], "Authorization": f"Bearer {token}"}
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application())
    checks: Any = [CHECKS.get_one(each) for each in EXPECTATIONS]  # a schema registers its own
    statuses: dict[str, set[int]] = {name: set() for name in headers}
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()

        @settings(max_examples=REQUESTS, database=None, phases=[Phase.generate])
        @given(case=operation.as_strategy(), known=st.booleans())
        def check(case: Case[Any], known: bool) -> None:
            if known:
                case.path_parameters.update({key: arguments[key] for key in case.path_parameters})
                if "/rounds/" in case.path:
                    case.path_parameters["number"] = 1
            for name in headers:
                if name == "olga" and case.operation.definition.raw["x-scope"] != "organise":
                    continue  # as to Alice
                if name == "nobody" and case.method != "GET" and not known:
                    continue  # 401, of whatever it is
                with transaction.atomic():
                    response = case.call(headers=headers[name])
                    transaction.set_rollback(True)
                statuses[name].add(response.status_code)
                case.validate_response(response, checks=checks)

        check()
    assert {200, 400, 404} <= statuses["alice"] & statuses["nobody"]
    assert {400, 404} <= statuses["olga"]
