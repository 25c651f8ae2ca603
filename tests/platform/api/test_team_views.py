"""What teams do on their pages, by API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import Team, User
from competitions.models import Competition, Entry
from competitions.terms import keep_terms
from core import clock, worker_notifications
from core.models import Event
from rounds.models import Objection, Round
from tests.platform.api.openapi import check_answer, document
from tests.platform.conftest import FakeClock
from webhooks.models import Webhook

Ask = Any


@pytest.fixture
def ask(program: Any) -> Ask:
    """Send a request as a person; return the answer, which has this status and is as the document says."""
    clients: dict[str, APIClient] = {}
    described = document(APIClient())

    def send(user: User, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        if user.username not in clients:
            clients[user.username] = program(user, "read", "team")
        response = getattr(clients[user.username], method)(f"/api/v1/{path}", body, format="json")
        assert response.status_code == status, response.content
        check_answer(described, "/" + _template(response), method, response)
        return response.json()

    return send


def _template(response: Any) -> str:
    route: str = response.resolver_match.route
    for converter in ("slug", "int", "str", "path"):
        route = route.replace(f"<{converter}:", "{")
    return route.replace(">", "}")


def test_a_team_is_founded_grows_and_shrinks(
    ask: Ask, competition: Competition, entry: Entry, charlie: User, olga: User, the_clock: FakeClock
) -> None:
    founded = {"slug": "cats", "name": "The Cats"}
    keep_terms(competition=competition, text="Be fair.", by=None)
    terms = ask(charlie, "get", "competitions/digits/terms")
    assert (terms["text"], terms["accepted"]) == ("Be fair.", None)
    refused = ask(charlie, "post", "competitions/digits/teams", founded, status=400)
    assert (refused["code"], refused["fix"]) == ("rejected", "read the terms, and accept them")
    founded["terms"] = terms["digest"]
    team = ask(charlie, "post", "competitions/digits/teams", founded, status=201)
    assert (team["slug"], team["competition"], team["members"]) == ("cats", "digits", ["charlie"])
    assert ask(charlie, "get", "competitions/digits/terms")["accepted"] is True
    assert [each["slug"] for each in ask(charlie, "get", "competitions/digits/teams")["results"]] == ["cats", "owls"]

    dora, emil = User.objects.create_user("dora"), User.objects.create_user("emil")
    numbers = {}
    for person in ("dora", "emil", "nobody-of-this-name", "olga"):
        invited = ask(charlie, "post", "teams/cats/invitations", {"username": person}, status=201)
        assert (invited["team"], invited["username"], invited["state"]) == ("cats", person, "open")
        numbers[person] = invited["number"]
    assert len(ask(charlie, "get", "teams/cats/invitations")["results"]) == 4
    ask(charlie, "post", f"teams/cats/invitations/{numbers['olga']}/withdraw")
    (own,) = ask(dora, "get", "profile/invitations")["results"]
    assert (own["number"], own["team"], own["invited_by"]) == (numbers["dora"], "cats", "charlie")
    assert ask(dora, "post", f"invitations/{own['number']}/accept")["state"] == "accepted"
    assert ask(emil, "post", f"invitations/{numbers['emil']}/decline")["state"] == "declined"
    again = ask(emil, "post", f"invitations/{numbers['emil']}/decline", status=400)
    assert (again["code"], again["detail"]) == ("rejected", "this invitation is already declined")
    assert ask(charlie, "get", "teams/cats")["members"] == ["charlie", "dora"]

    assert ask(dora, "post", "teams/cats/members/charlie/remove", status=400)["fix"] == "ask the captain"
    assert ask(dora, "get", "teams/cats/invitations", status=403)["code"] == "not-the-captain"
    assert ask(dora, "post", "teams/cats/members/dora/remove")["members"] == ["charlie"]
    assert ask(dora, "get", "teams/cats/invitations", status=403)["code"] == "not-a-member"
    verbs = list(Event.objects.filter(subject__startswith="invitation:").values_list("verb", flat=True))
    assert sorted(verbs) == sorted(["invite"] * 4 + ["withdraw_invitation", "accept_invitation", "decline_invitation"])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "slug: This field is required"),
        ({"slug": "The Cats", "name": "x"}, "Use lower-case letters"),
        ({"slug": "owls", "name": "x"}, "the short name 'owls' is taken"),
        ({"slug": "cats", "name": 7}, "name: use a string"),
        ({"slug": "cats", "name": "x", "captain": "olga"}, "captain: unknown; the body may have slug, name, terms"),
        ([], "Invalid data"),
    ],
)
def test_a_team_of_invalid_values_is_refused(ask: Ask, entry: Entry, charlie: User, body: Any, problem: str) -> None:
    refused = ask(charlie, "post", "competitions/digits/teams", body, status=400)
    assert problem in refused["detail"]
    assert refused["fix"]
    assert not Team.objects.exclude(slug="owls").exists()


def test_terms_are_accepted_by_the_captain_as_they_are_now(
    ask: Ask, competition: Competition, entry: Entry, alice: User, bob: User
) -> None:
    ask(alice, "get", "competitions/digits/terms", status=404)
    first = keep_terms(competition=competition, text="Be fair.", by=None)
    assert ask(bob, "get", "competitions/digits/terms")["accepted"] is False
    assert ask(bob, "post", "teams/owls/terms", {"terms": first.digest}, status=403)["code"] == "not-the-captain"
    keep_terms(competition=competition, text="Be very fair.", by=None)
    late = ask(alice, "post", "teams/owls/terms", {"terms": first.digest}, status=400)
    assert late["detail"] == "version 2 of the terms is in force, and it was not accepted"
    digest = ask(alice, "get", "competitions/digits/terms")["digest"]
    for _ in range(2):
        assert ask(alice, "post", "teams/owls/terms", {"terms": digest})["accepted"] is True


def test_a_member_objects_to_a_round_and_withdraws(
    ask: Ask, played: Round, bob: User, charlie: User, the_clock: FakeClock
) -> None:
    path = "competitions/digits/rounds/1/objections"
    early = ask(bob, "post", path, {"text": "It is wrong."}, status=400)
    assert early["fix"] == "wait for its publication"
    for submission in (played.entries.get().submission_id, 9999):  # who takes part is secret until then
        assert ask(bob, "post", path, {"text": "x", "submission": submission}, status=400) == early
    Round.objects.update(state=Round.State.PUBLISHED, state_since=clock.now(), objection_days=3)
    entry = played.entries.get()
    made = ask(bob, "post", path, {"text": "It is wrong.", "submission": entry.submission_id}, status=201)
    assert (made["team"], made["submission"], made["state"]) == ("owls", entry.submission_id, "open")
    again = ask(bob, "post", path, {"text": "Again.", "submission": entry.submission_id}, status=400)
    assert again["fix"] == "wait for its answer, or withdraw it first"
    assert (
        "no such submission in this round" in ask(bob, "post", path, {"text": "x", "submission": 9999}, 404)["detail"]
    )
    assert "no such match" in ask(bob, "post", path, {"text": "x", "match": "nothing"}, status=400)["detail"]
    ask(charlie, "post", path, {"text": "It is wrong."}, status=403)
    ask(charlie, "post", f"{path}/{made['number']}/withdraw", status=404)
    assert ask(bob, "post", f"{path}/{made['number']}/withdraw")["state"] == "withdrawn"
    the_clock.forward(days=4)
    assert "were accepted until" in ask(bob, "post", path, {"text": "Late."}, status=400)["detail"]
    assert Objection.objects.count() == 1


def test_a_captain_manages_webhooks(
    ask: Ask, entry: Entry, alice: User, bob: User, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_notifications, "notify", lambda task, **keys: None)
    body = {"address": "https://hooks.example/a", "events": ["round.published", "submission.scored"]}
    made = ask(alice, "post", "teams/owls/webhooks", body, status=201)
    assert made["events"] == ["submission.scored", "round.published"]
    assert len(made.pop("secret")) > 40
    assert ask(alice, "get", "teams/owls/webhooks")["results"] == [made]
    for address, problem in (
        ("https://10.0.0.1/x", "10.0.0.1"), ("http://hooks.example/", "https"), ("https://hooks.example:22/", "port"),
    ):  # fmt: skip
        refused = ask(alice, "post", "teams/owls/webhooks", body | {"address": address}, status=400)
        assert problem in refused["detail"] + refused["fix"]
    unknown = ask(alice, "post", "teams/owls/webhooks", body | {"events": ["nothing"]}, status=400)
    assert (unknown["code"], "nothing" in unknown["detail"]) == ("invalid", True)
    ask(bob, "get", "teams/owls/webhooks", status=403)

    path = f"teams/owls/webhooks/{made['number']}"
    tested = ask(alice, "post", f"{path}/test")
    (delivery,) = tested["deliveries"]
    assert (tested["waiting"], delivery["event"], delivery["state"]) == (1, "test", "waiting")
    early = ask(alice, "post", f"{path}/deliveries/{delivery['number']}/send", status=400)
    assert early["fix"] == "wait until it is over"
    assert ask(alice, "post", f"{path}/enable", status=400)["detail"] == "the webhook is not disabled"
    webhook = Webhook.objects.get()
    webhook.deliveries.update(due_at=None, state="delivered", status=200)
    Webhook.objects.update(disabled_at=clock.now() - timedelta(days=1))
    again = ask(alice, "post", f"{path}/deliveries/{delivery['number']}/send")
    assert [each["id"] for each in again["deliveries"]] == [delivery["id"]] * 2
    assert ask(alice, "post", f"{path}/enable")["disabled_at"] is None
    assert "secret" not in ask(alice, "get", path)
    for _ in range(8):
        ask(alice, "post", f"{path}/test")
    busy = ask(alice, "post", f"{path}/test", status=409)
    assert (busy["code"], busy["accepted_from"] is not None) == ("rejected-for-now", True)
    assert ask(alice, "post", f"{path}/remove")["number"] == made["number"]
    ask(alice, "get", path, status=404)
    assert not Webhook.objects.exists()


def test_a_repeated_request_adds_no_second_webhook(ask: Ask, entry: Entry, alice: User, the_clock: FakeClock) -> None:
    path, body = "teams/owls/webhooks", {"address": "https://hooks.example/a", "events": ["round.frozen"]}
    made = ask(alice, "post", path, body, status=201)
    assert ask(alice, "post", path, body, status=200) == made, "with the secret"
    ask(alice, "post", path, body | {"events": ["round.published"]}, status=201)
    the_clock.forward(minutes=10)
    ask(alice, "post", path, body, status=201)
    assert Webhook.objects.count() == 3


def test_a_token_to_submit_does_not_manage_the_team(program: Any, entry: Entry, alice: User) -> None:
    client = program(alice, "read", "submit")
    for path, body in (
        ("teams/owls/invitations", {"username": "charlie"}),
        ("teams/owls/webhooks", {"address": "https://hooks.example/", "events": ["round.frozen"]}),
    ):
        refused = client.post(f"/api/v1/{path}", body, format="json")
        assert (refused.status_code, refused.json()["code"]) == (403, "scope-missing")
        assert "'team'" in refused.json()["detail"]
    assert not Webhook.objects.exists()
