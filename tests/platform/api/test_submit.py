"""Submitting and withdrawing in the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from competitions.models import Competition, FreezeWindow
from core.errors import Fault
from submissions import services
from submissions.models import QuotaSlot, Submission

ADDRESS = "/api/v1/repositories/owls/model/submissions"


def test_a_submission_takes_a_slot_and_its_withdrawal_frees_it(program: Any, alice: User, commit: str) -> None:
    client = program(alice, "read", "submit")
    response = client.post(ADDRESS, {"commit": commit}, format="json")
    assert response.status_code == 201, response.json()
    made = response.json()
    assert (made["team"], made["track"], made["state"], made["commit"]) == ("owls", "model", "received", commit)
    assert made["slot"] == "used"
    assert client.get("/api/v1/repositories/owls/model/quota").json()["left"] == 4
    withdrawn = client.post(f"/api/v1/submissions/{made['number']}/withdraw")
    assert (withdrawn.status_code, withdrawn.json()["state"]) == (200, "withdrawn")
    assert client.get("/api/v1/repositories/owls/model/quota").json()["left"] == 5


MAY = {"nobody": 401, "charlie": 403, "olga": 403, "bob": 201}


@pytest.mark.parametrize("name", MAY)
def test_it_rejects_people_who_are_not_members(
    program: Any, commit: str, charlie: User, olga: User, scored: Submission, name: str
) -> None:
    client = program(User.objects.filter(username=name).first())
    assert client.post(ADDRESS, {"commit": commit}, format="json").status_code == MAY[name]
    assert client.post(f"/api/v1/submissions/{scored.pk}/withdraw").status_code == {201: 200}.get(MAY[name], MAY[name])
    assert QuotaSlot.objects.count() == (MAY[name] == 201)


def test_it_rejects_a_read_only_token(program: Any, alice: User, commit: str) -> None:
    response = program(alice, "read").post(ADDRESS, {"commit": commit}, format="json")
    assert (response.status_code, response.json()["code"]) == (403, "scope-missing")
    assert "'submit'" in response.json()["detail"]


@pytest.mark.parametrize("body", [{}, {"commit": ""}, {"commit": "0" * 40}, {"commit": "--all"}, {"commit": ["a"]}, []])
def test_it_rejects_an_invalid_commit(program: Any, alice: User, commit: str, body: Any) -> None:
    response = program(alice).post(ADDRESS, body, format="json")
    assert response.status_code == 400
    assert response.json()["detail"]
    assert response.json()["fix"]
    assert not Submission.objects.exists()


def test_it_rejects_a_submission_in_a_freeze_window(
    program: Any, alice: User, commit: str, the_clock: Any, competition: Competition
) -> None:
    window = FreezeWindow.objects.create(
        competition=competition,
        starts_at=the_clock.at - timedelta(hours=1),
        ends_at=the_clock.at + timedelta(hours=1),
        reason="round 1",
    )
    response = program(alice).post(ADDRESS, {"commit": commit}, format="json")
    assert response.status_code == 409
    assert response.json()["accepted_from"] == window.ends_at.isoformat().replace("+00:00", "Z")
    assert not QuotaSlot.objects.exists()


def test_a_fault_is_a_platform_error(program: Any, alice: User, commit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise Fault("the disk is full")

    monkeypatch.setattr(services, "submit", fail)
    response = program(alice).post(ADDRESS, {"commit": commit}, format="json")
    assert response.status_code == 503
    assert "disk" not in response.json()["detail"]
    assert "used up" not in response.json()["detail"]
    assert "check the team page" in response.json()["fix"]


def test_it_rejects_a_session_without_its_csrf_token(alice: User, commit: str) -> None:
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(alice)
    assert browser.post(ADDRESS, {"commit": commit}, format="json").status_code == 403
