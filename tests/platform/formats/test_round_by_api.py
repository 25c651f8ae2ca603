"""An organiser plays a whole round by the API alone, in every format; a member reads the result."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.test import Client
from django.urls import resolve
from rest_framework.test import APIClient

from accounts.models import User
from accounts.services import issue_token
from competitions.models import SampleSet
from core import clock
from core.models import Event
from rounds.models import Round
from rounds.objections.filing import file_objection
from tests.platform.api.openapi import check_answer, document
from tests.platform.conftest import FakeClock
from tests.platform.formats.conftest import Open
from tests.platform.formats.simulated_work import play, sweep_and_play
from tests.platform.formats.test_conformance import each_format
from tests.platform.formats.test_rounds_of_every_format import verified_bundle

REASON = {"reason": "As the calendar says."}


class Program:
    """A program with a token, which checks each answer against the OpenAPI document."""

    def __init__(self, user: User, *scopes: str) -> None:
        _, token = issue_token(user=user, name="program", scopes=scopes, days=1)
        self.client = APIClient()
        self.client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        self.described = document(self.client)

    def ask(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """Send a request below `/api/v1/` that shall have this status; return what is in the answer."""
        address = f"/api/v1/{path}"
        response = getattr(self.client, method)(address, body, format="json")
        assert response.status_code == status, (path, response.content)
        template = re.sub(r"<\w+:(\w+)>", r"{\1}", f"/{resolve(address).route}")
        check_answer(self.described, template, method, response)
        return response.json()


@each_format
@pytest.mark.slow(15)
def test_an_organiser_plays_a_whole_round_by_api(
    the_clock: FakeClock, opened: Open, name: str, client: Client, tmp_path: Path
) -> None:
    current_app.loader.import_default_modules()  # as a worker does when it starts
    olga = Program(opened.olga, "read", "organise")
    address = _planned(opened, olga)
    round_ = Round.objects.get()
    assert olga.ask("post", f"{address}/freeze", REASON, status=409)["code"] == "rejected-for-now"
    the_clock.at = round_.window.starts_at
    _played(opened, olga, address)
    _published(opened, olga, address)
    the_clock.at = round_.window.ends_at + timedelta(minutes=1)
    for part in ("bundle", "images"):
        olga.ask("post", f"{address}/release", REASON | {"part": part})
    again = olga.ask("post", f"{address}/release", REASON | {"part": "bundle"}, status=409)
    assert (again["code"], again["state"]) == ("wrong-state", "released")
    _read_by_a_member(opened, address)
    _answered(opened, olga, address)
    verified_bundle(client, Round.objects.get(), tmp_path)
    verbs = Event.objects.filter(subject=f"round:{round_.pk}").exclude(by=None).order_by("pk")
    done = list(verbs.values_list("verb", "by__username", "reason"))
    acts = ("plan", "freeze", "start", "pause", "resume", "publish")
    assert done == [(verb, "olga", REASON["reason"]) for verb in acts]


def _planned(opened: Open, olga: Program) -> str:
    """Plan a round whose window begins in an hour; return its address."""
    rounds = f"competitions/{opened.competition.slug}/rounds"
    source = opened.competition.sample_sets.get(purpose=SampleSet.Purpose.FINAL)
    starts_at, ends_at = clock.now() + timedelta(hours=1), clock.now() + timedelta(hours=3)
    plan = {
        "title": "Final", "kind": "final", "sample_set": source.name, "samples": 4, "schedule": "ladder-2",
        "starts_at": starts_at.isoformat(), "ends_at": ends_at.isoformat(), "objection_days": 3, **REASON,
    }  # fmt: skip
    planned = olga.ask("post", rounds, plan, status=201)
    assert (planned["state"], planned["samples"], planned["objection_days"]) == ("planned", 4, 3)
    shown = planned["for_organisers"]
    assert (shown["next_step"], shown["actions"]) == ("freeze", ["freeze", "cancel"])
    assert shown["blocked_by"].startswith("its freeze window begins at")
    assert olga.ask("post", rounds, plan, status=409)["state"] == "planned"
    return f"{rounds}/{planned['number']}"


def _played(opened: Open, olga: Program, address: str) -> None:
    """Freeze the round, start it, and let workers play it, with a pause."""
    get, post = partial(olga.ask, "get"), partial(olga.ask, "post")
    assert get(address)["for_organisers"]["blocked_by"] == ""
    assert post(f"{address}/freeze", REASON)["field_commitment"]
    entries = get(f"{address}/entries")["results"]
    tracks = [track.name for track in opened.competition.tracks.all()]
    assert {(each["track"], each["team"]) for each in entries} == {
        (track, team) for track in tracks for team in ("owls", "foxes")
    }
    assert post(f"{address}/start", REASON, status=202)["for_organisers"]["next_step"] == "score"
    late = post(f"{address}/start", REASON, status=409)
    assert (late["code"], late["state"]) == ("wrong-state", "playing")
    assert late["fix"] == "wait until it is scored, or pause it"
    post(f"{address}/pause", REASON)
    assert play() == 0
    assert get(f"{address}/preview", status=409)["state"] == "paused"
    post(f"{address}/resume", REASON, status=202)
    assert sweep_and_play() > 0


def _published(opened: Open, olga: Program, address: str) -> None:
    """Publish the round as its preview shows it."""
    get, post = partial(olga.ask, "get"), partial(olga.ask, "post")
    scored = get(address)
    assert (scored["state"], scored["standings"], scored["for_organisers"]["next_step"]) == ("scored", {}, "publish")
    preview = get(f"{address}/preview")
    rows = {each["track"]: len(each["rows"]) for each in preview["tracks"]}
    assert rows == {track.name: 2 for track in opened.competition.tracks.all()}
    assert "out of date" in post(f"{address}/publish", REASON | {"preview": "0" * 64}, status=409)["detail"]
    published = post(f"{address}/publish", REASON | {"preview": preview["digest"]})
    assert (published["state"], published["for_organisers"]["next_step"]) == ("published", None)


def _read_by_a_member(opened: Open, address: str) -> None:
    """A member reads the result, which shows nothing that is for organisers."""
    shown = Program(opened.captain, "read").ask("get", address)
    assert {track: min(row["place"] for row in rows) for track, rows in shown["standings"].items()} == {
        track.name: 1 for track in opened.competition.tracks.all()
    }
    assert {each["part"] for each in shown["releases"]} == {"bundle", "images"}
    assert shown["for_organisers"] is None


def _answered(opened: Open, olga: Program, address: str) -> None:
    """An organiser answers an objection, once."""
    made = file_objection(round_=Round.objects.get(), by=opened.captain, text="It is wrong.")
    rejected = olga.ask("post", f"{address}/objections/{made.pk}/reject", {"reason": "It is right."})
    assert (rejected["state"], rejected["answer"]) == ("rejected", "It is right.")
    again = olga.ask("post", f"{address}/objections/{made.pk}/uphold", {"reason": "It is not."}, status=409)
    assert again["state"] == "rejected"
    assert olga.ask("get", f"{address}/objections")["results"] == [rejected]
