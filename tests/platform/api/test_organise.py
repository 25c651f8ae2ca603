"""Organisers' requests that are refused: who may not, what is wrong, and what somebody else did before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils.dateparse import parse_datetime
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from competitions.models import Announcement, Competition, FreezeWindow, Organiser, RulesVersion, SampleSet
from competitions.sample_store import keep_samples
from core import clock
from core.models import Event
from core.roles import OrganiserRole
from evaluation.formats.query.rules import QueryRules
from rounds.models import Round
from submissions.models import Submission
from tests.platform.conftest import FakeClock

ROUNDS = "/api/v1/competitions/digits/rounds"
REASON = {"reason": "As announced."}


@pytest.fixture
def secret(rules: RulesVersion, the_clock: FakeClock) -> SampleSet:
    """Six secret samples for a round."""
    digest, names = keep_samples(
        source="digits", split="test-1", count=6, target_seed=7, rules=rules.rules_as(QueryRules)
    )
    return SampleSet.objects.create(
        competition=rules.competition, name="test-1", purpose="test", source="digits", split="test-1", count=6,
        target_seed=7, digest=digest, class_names=list(names), imported_at=rules.created_at,
    )  # fmt: skip


def plan(**changes: Any) -> dict[str, Any]:
    """The body of a request that plans a round of two hours, which begins in an hour."""
    now = clock.now()
    values = {
        "title": "Round 1", "kind": "development", "sample_set": "test-1", "samples": 4, "schedule": "ladder-2",
        "starts_at": (now + timedelta(hours=1)).isoformat(), "ends_at": (now + timedelta(hours=3)).isoformat(),
    }  # fmt: skip
    return values | REASON | changes


def person(competition: Competition, role: str) -> User:
    """Somebody with a role in the competition."""
    user = User.objects.create_user(role, f"{role}@example.org")
    Organiser.objects.create(competition=competition, user=user, role=role)
    return user


def test_a_token_needs_the_scope(program: Any, played: Round, olga: User, scored: Submission) -> None:
    client = program(olga, "read", "submit")
    for address in (ROUNDS, f"{ROUNDS}/1/publish", f"/api/v1/submissions/{scored.pk}/disqualify"):
        refused = client.post(address, REASON, format="json")
        assert (refused.status_code, refused.json()["code"]) == (403, "scope-missing")
        assert "'organise'" in refused.json()["fix"]
    assert program(olga, "organise").post("/api/v1/submissions/1/withdraw").json()["code"] == "scope-missing"
    assert not Event.objects.exclude(verb="issue").exists()


@pytest.mark.parametrize("role", [OrganiserRole.JUDGE, OrganiserRole.HELPER])
def test_a_role_allows_what_it_allows_in_the_admin(
    program: Any, played: Round, scored: Submission, role: OrganiserRole
) -> None:
    user = person(played.competition, role)
    client, judges = program(user), role == OrganiserRole.JUDGE
    for act in ("freeze", "start", "pause", "resume", "cancel", "publish", "release", "window/end"):
        refused = client.post(f"{ROUNDS}/1/{act}", REASON, format="json")
        assert (refused.status_code, refused.json()["code"]) == (403, "role-missing"), act
        assert f"your role in Digits, {role}, does not allow this" in refused.json()["detail"]
        assert "owner or organiser" in refused.json()["fix"]
    assert client.get(f"{ROUNDS}/1/preview").status_code == (200 if judges else 403)
    assert (client.get(f"{ROUNDS}/1").json()["for_organisers"] is None) == (not judges)
    disqualified = client.post(f"/api/v1/submissions/{scored.pk}/disqualify", REASON, format="json")
    assert disqualified.status_code == (200 if judges else 403)
    news = {"title": "News", "text": "A round begins."}
    announced = client.post("/api/v1/competitions/digits/announcements", news, format="json")
    assert announced.status_code == (403 if judges else 201)
    assert Round.objects.get().state == "scored"


def test_an_organiser_of_another_competition_is_a_stranger(program: Any, played: Round, the_clock: FakeClock) -> None:
    other = Competition.objects.create(
        slug="letters",
        title="Letters",
        starts_at=clock.now(),
        ends_at=clock.now() + timedelta(days=1),
        created_at=clock.now(),
    )
    client = program(person(other, "organiser"))
    for number in (1, 2):  # nor is shown which rounds there are
        assert client.post(f"{ROUNDS}/{number}/cancel", REASON, format="json").json()["code"] == "role-missing"
    assert client.get(f"{ROUNDS}/1/preview").status_code == 403
    Competition.objects.filter(slug="digits").update(public=False)
    assert client.post(f"{ROUNDS}/1/cancel", REASON, format="json").json()["code"] == "not-found"
    assert program().post(f"{ROUNDS}/1/cancel", REASON, format="json").status_code == 404
    Competition.objects.filter(slug="digits").update(public=True)
    assert program().post(f"{ROUNDS}/1/cancel", REASON, format="json").json()["code"] == "unauthenticated"
    assert Round.objects.get().state == "scored"


@pytest.mark.parametrize("state", Round.State.values)
def test_an_act_in_a_wrong_state_changes_nothing(program: Any, played: Round, olga: User, state: str) -> None:
    possible = {
        "planned": {"freeze"},
        "frozen": {"start"},
        "playing": {"pause"},
        "paused": {"resume"},
        "scored": {"publish"},
    }
    Round.objects.update(state=state)
    client = program(olga)
    body = {"publish": {"preview": "0"}, "release": {"part": "bundle"}}
    for act in {"freeze", "start", "pause", "resume", "publish", "release"} - possible.get(state, set()):
        if (state, act) == ("published", "release"):
            continue
        refused = client.post(f"{ROUNDS}/1/{act}", REASON | body.get(act, {}), format="json")
        found = refused.json()
        assert (refused.status_code, found["code"], found["state"]) == (409, "wrong-state", state), act
        assert found["detail"].startswith(f"Round 1 is {state} and cannot be ")
        assert found["fix"]
    assert Round.objects.get().state == state
    assert not Event.objects.exclude(verb="issue").exists()


def test_a_plan_is_checked_as_in_the_admin(program: Any, secret: SampleSet, olga: User) -> None:
    client, now = program(olga), clock.now()
    FreezeWindow.objects.create(
        competition=secret.competition,
        starts_at=now + timedelta(hours=2),
        ends_at=now + timedelta(hours=9),
        reason="own",
    )
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"starts_at": (now - timedelta(hours=2)).isoformat()}, "rejected", "would begin in the past"),
        ({"ends_at": (now + timedelta(hours=1)).isoformat()}, "rejected", "ends before it begins"),
        ({}, "rejected", "it overlaps the freeze window 'own'"),
        ({"samples": 7}, "rejected", "has 6 samples, not 7"),
        ({"kind": "final"}, "rejected", "plays on samples for final"),
        ({"schedule": "chess"}, "rejected", "'chess' is not a schedule"),
        ({"kind": "friendly"}, "invalid", "kind: "),
        ({"starts_at": "tomorrow"}, "invalid", "starts_at: "),
        ({"samples": "4"}, "invalid", "samples: use a whole number"),
        ({"samples": True}, "invalid", "samples: use a whole number"),
        ({"objection_days": 400}, "invalid", "objection_days: "),
        ({"sample_set": "test-2"}, "invalid", "sample_set: use one of test-1"),
        ({"titel": "Round 1"}, "invalid", "titel: unknown; the body may have reason, title"),
        ({"reason": " "}, "invalid", "reason: "),
        ({"title": 7}, "invalid", "title: use a string"),
    ]
    for changes, code, words in wrong:
        refused = client.post(ROUNDS, plan(**changes), format="json")
        assert (refused.status_code, refused.json()["code"]) == (400, code), changes
        assert words in refused.json()["detail"], changes
    for body in ("{", "[]", '"Round 1"', "null"):
        refused = client.post(ROUNDS, body, content_type="application/json")
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid"), body
    assert not Round.objects.exists()


def test_a_round_is_planned_once_and_its_window_opened(program: Any, secret: SampleSet, olga: User) -> None:
    client = program(olga)
    made = client.post(ROUNDS, plan(starts_at="2026-11-21T15:00:00+02:00"), format="json")
    assert (made.status_code, made.headers["Location"]) == (201, f"http://testserver{ROUNDS}/1")
    assert made.json()["starts_at"] == "2026-11-21T13:00:00Z"
    again = client.post(ROUNDS, plan(title="Another"), format="json")
    assert (again.status_code, again.json()["code"], again.json()["state"]) == (409, "wrong-state", "planned")
    early = client.post(f"{ROUNDS}/1/freeze", REASON, format="json")
    assert (early.status_code, early.json()["accepted_from"]) == (409, "2026-11-21T13:00:00Z")
    opened = client.post(f"{ROUNDS}/1/window/open", REASON, format="json").json()
    assert parse_datetime(opened["starts_at"]) == clock.now()
    assert client.post(f"{ROUNDS}/1/window/open", REASON, format="json").json()["state"] == "begun"
    later = REASON | {"ends_at": "2026-11-22T12:00:00Z"}
    assert client.post(f"{ROUNDS}/1/window/extend", later, format="json").json()["ends_at"] == later["ends_at"]
    cancelled = client.post(f"{ROUNDS}/1/cancel", REASON, format="json").json()
    assert (cancelled["state"], cancelled["for_organisers"]["next_step"]) == ("cancelled", None)


def test_submissions_are_judged_once(program: Any, scored: Submission, olga: User) -> None:
    client, address = program(olga), f"/api/v1/submissions/{scored.pk}"
    shown = client.post(f"{address}/disqualify", REASON, format="json").json()
    assert (shown["disqualified_for"], shown["progress"]["final"]) == (REASON["reason"], True)
    again = client.post(f"{address}/disqualify", REASON, format="json")
    assert (again.status_code, again.json()["state"]) == (409, "disqualified")
    assert client.post(f"{address}/reinstate", REASON, format="json").json()["disqualified_at"] is None
    assert client.post(f"{address}/reinstate", REASON, format="json").json()["state"] == "not disqualified"
    assert client.post(f"{address}/retry", REASON, format="json").json()["state"] == "ready"
    assert client.post(f"{address}/refund", REASON, format="json").json()["code"] == "wrong-state"
    assert client.post(f"{address}/re-evaluate", REASON, format="json").status_code == 200
    running = client.post(f"{address}/re-evaluate", REASON, format="json")
    assert (running.status_code, running.json()["state"]) == (409, "playing")
    Submission.objects.update(state=Submission.State.REJECTED)
    assert client.post(f"{address}/retry", REASON, format="json").json()["state"] == "received"


def test_an_announcement_is_public_from_its_time_on(program: Any, olga: User, the_clock: FakeClock) -> None:
    address = "/api/v1/competitions/digits/announcements"
    client, later = program(olga), (clock.now() + timedelta(days=1)).isoformat()
    now = client.post(address, {"title": "Now", "text": "A *round*."}, format="json")
    assert (now.status_code, parse_datetime(now.json()["published_at"])) == (201, clock.now())
    client.post(address, {"title": "Later", "text": "Another.", "published_at": later}, format="json")
    refused = client.post(address, {"title": "Long", "text": "x" * 1_000_000}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    titles = {who: [each["title"] for each in program(who).get(address).json()["results"]] for who in (olga, None)}
    assert titles == {olga: ["Later", "Now"], None: ["Now"]}
    assert Announcement.objects.count() == 2


def test_the_same_announcement_again_is_the_first_one(program: Any, olga: User, the_clock: FakeClock) -> None:
    address, client = "/api/v1/competitions/digits/announcements", program(olga)
    later = {"title": "Later", "text": "Another.", "published_at": (clock.now() + timedelta(days=1)).isoformat()}
    for body in ({"title": "Now", "text": "A round."}, later):
        first = client.post(address, body, format="json")
        the_clock.forward(minutes=10)
        again = client.post(address, body, format="json")
        assert (first.status_code, again.status_code, again.json()) == (201, 200, first.json())
    assert Event.objects.filter(verb="announce").count() == 2
    the_clock.forward(hours=1)
    assert client.post(address, {"title": "Now", "text": "A round."}, format="json").status_code == 201
    assert client.post(address, later | {"text": "A correction."}, format="json").status_code == 201


def test_the_round_of_organisers_takes_few_queries(
    program: Any, played: Round, olga: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = program(olga)
    for state in ("planned", "scored", "published"):
        Round.objects.update(state=state)
        with django_assert_max_num_queries(60):
            assert client.get(f"{ROUNDS}/1").json()["for_organisers"]
    assert Round.objects.get().state == "published"
