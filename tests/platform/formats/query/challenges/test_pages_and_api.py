"""The form and the list on the page of a submission, the page of a challenge, and the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from accounts.services import issue_token
from formats.query.challenges.models import Challenge
from formats.query.challenges.services import challenge, challenges_left
from submissions.models import Submission
from tests.platform.conftest import FakeClock

Program = Callable[..., APIClient]


@pytest.fixture
def program(db: None) -> Program:
    """Return an API client with a token of a person."""

    def start(user: User, *scopes: str) -> APIClient:
        client = APIClient()
        _, plain = issue_token(user=user, name="program", scopes=scopes or ("read", "submit"), days=30)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {plain}")
        return client

    return start


def page(client: Client, path: str, user: User | None = None) -> str:
    if user:
        client.force_login(user)
    return client.get(path).content.decode()


def test_a_member_chooses_an_opponent_on_the_page(model: Submission, client: Client, bob: User) -> None:
    address = f"/submissions/{model.pk}"
    assert f'href="{address}/challenge/new"' in page(client, address, bob)
    shown = page(client, f"{address}/challenge/new")
    assert '<option value="gaussian-noise">gaussian-noise</option>' in shown
    assert '<optgroup label="Targeted attack">' in shown
    assert 'value="numpy-classifier"' not in shown
    assert "5 of 5 left for your team in 24 hours" in shown
    answer = client.post(f"{address}/challenge", {"opponent": "gaussian-noise"}, follow=True)
    text = answer.content.decode()
    assert "The challenge against gaussian-noise waits for a worker" in text
    assert f'href="/challenges/{Challenge.objects.get().pk}"' in text
    assert "4 of 5 left" in page(client, f"{address}/challenge/new")
    refused = client.post(f"{address}/challenge", {"opponent": "<b>numpy"}, follow=True).content.decode()
    assert "Choose one of gaussian-noise, salt-and-pepper" in refused
    assert "<b>numpy" not in refused
    assert Challenge.objects.count() == 1


def test_the_form_says_why_no_challenge_is_accepted(
    model: Submission, client: Client, bob: User, settings: Any
) -> None:
    settings.TEAM_CHALLENGES = 1
    challenge(submission=model, opponent="gaussian-noise", by=bob)
    shown = page(client, f"/submissions/{model.pk}/challenge/new", bob)
    assert "The one challenge of The Owls in 24 hours is used. Accepted from" in shown
    assert f'action="/submissions/{model.pk}/challenge"' not in shown


def test_a_request_needs_the_token_of_the_form(model: Submission, bob: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(bob)
    answer = client.post(f"/submissions/{model.pk}/challenge", {"opponent": "gaussian-noise"})
    assert (answer.status_code, Challenge.objects.count()) == (403, 0)


def test_others_see_nothing_of_a_challenge(
    model: Submission, client: Client, bob: User, charlie: User, olga: User
) -> None:
    made = challenge(submission=model, opponent="gaussian-noise", by=bob)
    address = f"/submissions/{model.pk}"
    assert "Challenge" not in page(client, address)
    assert "Challenge" not in page(client, address, charlie)
    assert client.get(f"/challenges/{made.pk}").status_code == 403
    organised = page(client, address, olga)
    assert f"Challenge {made.pk}" in organised
    assert "/challenge/new" not in organised
    assert '<a href="/people/bob">bob</a>' in page(client, f"/challenges/{made.pk}")
    bob.memberships.all().delete()
    left = client.get(f"/challenges/{made.pk}")
    assert left.status_code == 200
    assert "/people/bob" not in left.content.decode(), "that page is for people in teams"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "This challenge waits for a worker"),
        ({"state": "claimed"}, "A worker plays this challenge now"),
        ({"state": "failed"}, "does not count for the limit of your team"),
    ],
)
def test_the_page_of_a_challenge_says_how_far_it_is(
    model: Submission, client: Client, alice: User, values: dict[str, str], text: str
) -> None:
    made = challenge(submission=model, opponent="gaussian-noise", by=alice)
    Challenge.objects.update(**values)
    shown = page(client, f"/challenges/{made.pk}", alice)
    assert text in shown
    assert ("data-live" in shown) == (values.get("state") != "failed")
    poll = {"headers": {"HX-Request": "true"}}
    known = Challenge.objects.get().progress
    same = client.get(f"/challenges/{made.pk}?seen=other&state={known}", **poll)  # type: ignore[arg-type]
    assert text in same.content.decode()
    changed = client.get(f"/challenges/{made.pk}?seen=other&state=another", **poll)  # type: ignore[arg-type]
    assert changed.headers["HX-Refresh"] == "true"


def test_a_program_requests_and_reads_challenges(model: Submission, program: Program, bob: User) -> None:
    address = f"/api/v1/submissions/{model.pk}/challenges"
    client = program(bob)
    made = client.post(address, {"opponent": "gaussian-noise"}, format="json")
    assert made.status_code == 201
    number = Challenge.objects.get().pk
    expected = {
        "number": number, "submission": model.pk, "opponent": "gaussian-noise", "opponent_title": "gaussian-noise",
        "track": "untargeted", "state": "waiting", "requested_by": "bob", "played_at": None, "rules": 1,
        "sample_set": "development", "numbers": None, "samples": None,
    }  # fmt: skip
    assert made.json().items() >= expected.items()
    reader = program(bob, "read")
    assert [each["number"] for each in reader.get(address).json()["results"]] == [number]
    assert "samples" not in reader.get(address).json()["results"][0]
    assert reader.get(f"{address}/{number}").json() == made.json()
    assert reader.get(f"{address}/{number + 1}").json()["code"] == "not-found"


def test_a_repeated_request_of_a_program_gets_the_first_challenge_and_counts_once(
    model: Submission, program: Program, alice: User, bob: User, the_clock: FakeClock
) -> None:
    def request(by: User) -> tuple[int, int]:
        answer = program(by).post(address, {"opponent": "gaussian-noise"}, format="json")
        return answer.status_code, answer.json()["number"]

    address = f"/api/v1/submissions/{model.pk}/challenges"
    first = request(bob)[1]
    assert (request(bob), request(alice)) == ((200, first), (200, first))
    Challenge.objects.update(state=Challenge.State.PLAYED)
    assert request(bob) == (200, first)
    assert challenges_left(model.repository.entry) == 4
    the_clock.forward(minutes=10)
    code, second = request(bob)
    assert (code, second != first) == (201, True)
    Challenge.objects.update(state=Challenge.State.FAILED)
    assert request(bob)[0] == 201


def test_problems_of_the_api_name_cause_and_fix(
    model: Submission, program: Program, bob: User, charlie: User, settings: Any
) -> None:
    address = f"/api/v1/submissions/{model.pk}/challenges"
    body = {"opponent": "gaussian-noise"}
    same_side = program(bob).post(address, {"opponent": "numpy-classifier"}, format="json")
    assert (same_side.status_code, same_side.json()["code"]) == (400, "rejected")
    assert "gaussian-noise" in same_side.json()["fix"]
    missing = program(bob).post(address, {}, format="json")
    assert (missing.status_code, missing.json()["code"]) == (400, "invalid")
    scope = program(bob, "read").post(address, body, format="json")
    assert (scope.status_code, scope.json()["code"]) == (403, "scope-missing")
    stranger = program(charlie).post(address, body, format="json")
    assert (stranger.status_code, stranger.json()["code"]) == (403, "not-a-member")
    settings.TEAM_CHALLENGES = 1
    assert program(bob).post(address, body, format="json").status_code == 201
    used = program(bob).post(address, {"opponent": "salt-and-pepper"}, format="json")
    assert (used.status_code, used.json()["code"]) == (409, "rejected-for-now")
    assert used.json()["accepted_from"]
    assert Challenge.objects.count() == 1
