"""A round in the admin: the plan form, the actions, and the organiser's dashboard."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.models import Competition, SampleSet
from core.models import Event
from evaluation.formats.query.results import AuditReport
from formats.query.matches.models import Match
from formats.query.matches.piece_queue import Claim
from formats.query.matches.piece_result import PlayedPiece
from formats.query.rounds.round_advancement import advance_round
from rounds.models import Round, RoundEntry
from submissions.models import Submission
from submissions.services import disqualify, reinstate
from tests.platform.claims import play_waiting

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import RoundFixture

ADD = reverse("admin:rounds_round_add")


@pytest.fixture
def browser(olga: User, client: Client) -> Client:
    """Olga's browser; she is staff."""
    olga.is_staff = True
    olga.save()
    client.force_login(olga)
    return client


def plan_form(env: RoundFixture, **more: Any) -> dict[str, Any]:
    return {
        "competition": env.competition.pk,
        "title": "Development round 1",
        "kind": "development",
        "schedule": "ladder",
        "source": env.sources["test"].pk,
        "samples": 16,
        "starts_at_0": "2026-11-21",
        "starts_at_1": "13:00:00",
        "ends_at_0": "2026-11-22",
        "ends_at_1": "12:00:00",
        "reason": "The first month is over.",
        **more,
    }


def act(browser: Client, round_: Round, name: str, **fields: str | list[str]) -> list[str]:
    """Do an act from the round's page, behind the page that asks; what the admin says of it."""
    page = reverse(f"admin:rounds_round_{name}", args=[round_.pk])
    asked = browser.get(page).content.decode()
    assert 'name="reason"' in asked
    return confirm(browser, round_, page, hidden_in(asked) | fields)


def hidden_in(page: str) -> dict[str, str]:
    """What the form of a page brings along, as a browser sends it."""
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))


def confirm(browser: Client, round_: Round, page: str, fields: Mapping[str, str | list[str]]) -> list[str]:
    done = browser.post(page, {"confirmed": "yes", "reason": "It is time.", **fields})
    assert done.status_code == 302
    round_.refresh_from_db()
    return [str(message) for message in get_messages(done.wsgi_request)][-1:]


def dashboard(browser: Client, round_: Round) -> str:
    answer = browser.get(reverse("admin:rounds_round_change", args=[round_.pk]))
    assert answer.status_code == 200
    return str(answer.content.decode())


def offered(browser: Client, round_: Round) -> list[str]:
    """The acts that the page of a round offers."""
    page = dashboard(browser, round_)
    names = ("freeze", "start", "pause", "resume", "cancel", "publish", "release", "withdraw")
    return [name for name in names if reverse(f"admin:rounds_round_{name}", args=[round_.pk]) in page]


@pytest.mark.slow(8)
def test_an_organiser_takes_a_round_from_its_plan_to_its_publication(
    browser: Client, env: RoundFixture, olga: User
) -> None:
    env.field(11, 5, 2)
    assert browser.post(ADD, plan_form(env)).status_code == 302
    round_ = Round.objects.get()
    assert (round_.title, round_.state, round_.sample_set.count, round_.guard) == (
        "Development round 1",
        "planned",
        16,
        False,
    )
    assert Event.objects.get(verb="plan", subject=f"round:{round_.pk}").reason == "The first month is over."
    assert "Maximum in total" in dashboard(browser, round_)
    assert offered(browser, round_) == ["freeze", "cancel"]

    env.clock.at = round_.window.starts_at
    assert act(browser, round_, "freeze") == ["1 of 1 frozen."]
    assert act(browser, round_, "start") == ["1 of 1 started."]
    assert act(browser, round_, "pause") == ["1 of 1 paused."]
    assert act(browser, round_, "resume") == ["1 of 1 resumed."]
    page = dashboard(browser, round_)
    assert "Running. This page refreshes" in page
    assert "cut in stage" not in page
    while not round_.stages.exists():
        advance_round(round_)
        env.play()
    assert "cut in stage 1" in dashboard(browser, round_)
    env.run(round_)

    page = dashboard(browser, round_)
    assert offered(browser, round_) == ["cancel", "publish"]
    for seen in ("What publishing changes", "(enters)", "cut in stage 1", "Decision log", "stage 1: 16 samples"):
        assert seen in page
    assert env.pool("model") == []
    assert act(browser, round_, "publish") == ["1 of 1 published."]
    assert env.pool("model") == [f"model {number}" for number in range(5)]
    assert offered(browser, round_) == ["release", "withdraw"]
    assert Event.objects.get(verb="publish", by=olga).reason == "It is time."


def test_the_audit_of_an_inconsistent_model_is_overridden_from_the_dashboard(
    browser: Client, env: RoundFixture, olga: User
) -> None:
    env.field(7, 5)
    round_ = env.begin(env.plan(samples=8))
    advance_round(round_)

    def played(claim: Claim) -> PlayedPiece:
        failed = claim.piece.match.model.title == "model 1"
        piece = env.played(claim)
        return replace(piece, audit=AuditReport(replayed=20, changed=9)) if failed else piece

    play_waiting(env.worker(), played)
    assert "5 of 5 matches" in dashboard(browser, round_)
    env.run(round_)
    page = dashboard(browser, round_)
    assert "eliminated in stage 1 (untargeted)" in page
    suspect = round_.entries.get(player__title="model 1")
    override = reverse("admin:rounds_roundentry_override_audit", args=[suspect.pk])
    assert f'href="{override}"' in page
    assert "although its audits failed" in browser.get(override).content.decode()
    browser.post(override, {"confirmed": "yes", "reason": "It is rounding."})
    suspect.refresh_from_db()
    assert suspect.audit_override_reason == "It is rounding."
    assert Event.objects.get(verb="override_audit", by=olga).reason == "It is rounding."
    env.run(round_)
    assert "audit overridden" in dashboard(browser, round_)
    suspect.refresh_from_db()
    assert suspect.place == 2


def test_a_failed_audit_is_shown_before_the_round_is_published(browser: Client, env: RoundFixture, olga: User) -> None:
    env.field(7, 3)
    round_ = env.scored(env.plan(samples=8))
    publish = reverse("admin:rounds_round_publish", args=[round_.pk])
    page = reverse("admin:rounds_round_changelist")
    chosen = {"action": "publish", ACTION_CHECKBOX_NAME: [round_.pk]}
    reported = "mo-1 1 of Mo-1, place 2, failed its audit in one match: disqualify it before you publish"

    def seen() -> list[bool]:
        asked = [browser.get(publish).content.decode(), browser.post(page, chosen).content.decode()]
        return [reported in each for each in (dashboard(browser, round_), *asked)]

    assert seen() == [False, False, False]
    match = Match.objects.filter(model__title="model 1").earliest("pk")
    Match.objects.filter(pk=match.pk).update(audit={"changed": 9, "passed": False})
    assert seen() == [True, True, True]
    disqualify(submission=Submission.objects.get(title="mo-1 1"), by=olga, reason="it is no function of its image")
    assert seen() == [False, False, False]
    assert "disqualified, failed its audit in one match" in dashboard(browser, round_)
    assert act(browser, round_, "publish") == ["1 of 1 published."]
    assert env.pool("model") == [f"model {number}" for number in (0, 2, 3, 4, 5)]
    assert "disqualified" in browser.get(f"/competitions/digits/rounds/{round_.number}").content.decode()


def test_the_confirmation_page_shows_the_pools_and_nothing_else_is_published(
    browser: Client, env: RoundFixture, olga: User
) -> None:
    env.field(7, 3)
    round_ = env.scored(env.plan(samples=8))
    best = Submission.objects.get(title="mo-0 0")
    disqualify(submission=best, by=olga, reason="it cheats")
    publish = reverse("admin:rounds_round_publish", args=[round_.pk])
    asked = browser.get(publish).content.decode()
    assert "The best of each track become its pool" in asked
    assert "Pool of the model track: model 1, model 2, model 3, model 4, model 5." in asked
    reinstate(submission=best, by=olga, reason="it does not")
    (refused,) = confirm(browser, round_, publish, hidden_in(asked))
    assert "is out of date" in refused
    assert "check the preview again" in refused
    assert (round_.state, env.pool("model")) == ("scored", [])
    (refused,) = confirm(browser, round_, publish, {})  # an old page without a digest
    assert "check the preview again" in refused

    again = browser.post(publish, {"confirmed": "yes", "reason": "", **hidden_in(asked)}).content.decode()
    assert "Pool of the model track: model 0, model 1, model 2, model 3, model 4." in again
    assert confirm(browser, round_, publish, hidden_in(again)) == ["1 of 1 published."]
    assert env.pool("model") == [f"model {number}" for number in range(5)]


def test_a_round_chosen_in_the_list_is_published_as_previewed(browser: Client, env: RoundFixture, olga: User) -> None:
    env.field(7, 3)
    round_ = env.scored(env.plan(samples=8))
    page = reverse("admin:rounds_round_changelist")
    asked = browser.post(page, {"action": "publish", ACTION_CHECKBOX_NAME: [round_.pk]}).content.decode()
    fields = hidden_in(asked)
    disqualify(submission=Submission.objects.get(title="mo-0 0"), by=olga, reason="it cheats")
    (refused, *_) = confirm(browser, round_, page, fields)
    assert "check the preview again" in refused
    asked = browser.post(page, {"action": "publish", ACTION_CHECKBOX_NAME: [round_.pk]}).content.decode()
    assert confirm(browser, round_, page, hidden_in(asked)) == ["1 of 1 published."]
    assert env.pool("model") == [f"model {number}" for number in range(1, 6)]


def test_parts_are_released_and_withdrawn(browser: Client, env: RoundFixture) -> None:
    env.field(2, 2)
    round_ = env.scored(env.plan(samples=8))
    act(browser, round_, "publish")
    asked = browser.get(reverse("admin:rounds_round_release", args=[round_.pk])).content.decode()
    assert re.findall(r'name="part" value="(\w+)"', asked) == ["bundle", "images", "perturbed"]
    assert "Code of the eligible submissions: Digits is still running" in asked
    both = {"part": ["bundle", "images"]}
    assert act(browser, round_, "release", **both) == ["1 of 1 released in part."]
    assert {each.part for each in round_.releases.all()} == {"bundle", "images"}
    assert reverse("pages:round_file", args=["digits", round_.number, "bundle"]) in dashboard(browser, round_)
    (refused,) = act(browser, round_, "release", part=["bundle", "perturbed"])
    assert "already released" in refused
    assert round_.releases.filter(part="perturbed").exists(), "each part is released by itself"
    assert act(browser, round_, "withdraw", part=["bundle"]) == ["1 of 1 withdrawn in part."]
    (refused,) = act(browser, round_, "withdraw", part=["bundle"])
    assert "the signed result bundle is not released" in refused


@pytest.mark.parametrize("ends", [True, False])
def test_a_publication_ends_the_freeze_window_where_it_is_asked_to(
    browser: Client, env: RoundFixture, ends: bool
) -> None:
    env.field(2, 2)
    round_ = env.begin(env.plan(samples=8))
    planned_end = round_.window.ends_at
    env.clock.forward(minutes=30)
    env.run(round_)
    page = dashboard(browser, round_)
    assert "open until 2026-11-21 23:00 UTC; no submission is accepted" in page
    act(browser, round_, "publish", **({"ends_window": "on"} if ends else {}))
    round_.window.refresh_from_db()
    assert round_.window.ends_at == (env.clock.at if ends else planned_end)
    assert ("ended 2026-11-21 13:30 UTC" in dashboard(browser, round_)) == ends


def test_a_failed_match_is_named_with_a_way_to_replay_it(browser: Client, env: RoundFixture) -> None:
    env.field(2, 2)
    round_ = env.begin(env.plan(samples=8))
    advance_round(round_)
    match = Match.objects.earliest("pk")
    Match.objects.filter(pk=match.pk).update(state="failed", fault="the disk is full")
    advance_round(round_)
    page = dashboard(browser, round_)
    assert "A platform error occurred in 1 of its matches" in page
    assert "the disk is full" in page
    assert reverse("admin:matches_match_replay", args=[match.pk]) in page


def test_a_licence_is_judged_on_the_entries_page(browser: Client, env: RoundFixture) -> None:
    env.field(2, 2)
    env.submission("mo-9", "model", 9, licence="Mine")
    env.begin(env.plan("final", samples=8))
    entry = RoundEntry.objects.get(eligible=False)
    page = reverse("admin:rounds_roundentry_confirm_licence", args=[entry.pk])
    assert browser.post(page, {"confirmed": "yes", "reason": "It is the MIT licence."}).status_code == 302
    entry.refresh_from_db()
    assert entry.eligible


def test_the_log_is_found_by_team(browser: Client, env: RoundFixture) -> None:
    env.field(11, 3)
    env.scored(env.plan(samples=16))
    log = reverse("admin:query_rounds_decision_changelist")
    found = browser.get(log, {"q": "mo-10", "kept__exact": "0"}).context["cl"].queryset
    assert [(line.player.title, line.kept) for line in found] == [("model 10", False)]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"samples": 41}, "has 40 samples"),
        ({"objection_days": 91}, "less than or equal to 90"),
        ({"kind": "final"}, "samples for final"),
        ({"title": " "}, "This field is required"),
        ({"ends_at_0": "2026-11-20"}, "window"),
    ],
)
def test_it_rejects_an_invalid_plan(browser: Client, env: RoundFixture, wrong: dict[str, Any], words: str) -> None:
    answer = browser.post(ADD, plan_form(env, **wrong))
    page = answer.content.decode()
    assert answer.status_code == 200
    assert words in page
    assert "The first month is over." in page
    assert not Round.objects.exists()


@pytest.mark.parametrize(("entered", "planned"), [("", 4), ("0", 0), ("9", 9)])
def test_days_for_objections_are_the_competition_s_unless_entered(
    browser: Client, env: RoundFixture, entered: str, planned: int
) -> None:
    Competition.objects.update(objection_days=4)
    browser.post(ADD, plan_form(env, objection_days=entered))
    assert Round.objects.get().objection_days == planned


def test_a_platform_error_is_shown_and_keeps_the_form(browser: Client, env: RoundFixture) -> None:
    SampleSet.objects.filter(pk=env.sources["test"].pk).update(digest="0" * 64)
    answer = browser.post(ADD, plan_form(env))
    assert answer.status_code == 200
    assert "platform error: " in answer.content.decode()
    assert "The first month is over." in answer.content.decode()
    assert not Round.objects.exists()


def test_it_rejects_an_action_in_another_state_with_the_text_of_the_service(browser: Client, env: RoundFixture) -> None:
    round_ = env.plan()
    page = reverse("admin:rounds_round_start", args=[round_.pk])
    asked = browser.get(page).content.decode()
    assert "is planned and cannot be started" in asked
    assert 'name="reason"' not in asked
    (refused,) = confirm(browser, round_, page, {})
    assert "is planned and cannot be started" in refused
    assert round_.state == "planned"


def test_it_rejects_rounds_of_a_foreign_competition(browser: Client, env: RoundFixture, olga: User) -> None:
    round_ = env.plan()
    other = Competition.objects.create(
        slug="letters",
        title="Letters",
        starts_at=env.competition.starts_at,
        ends_at=env.competition.ends_at,
        created_at=env.competition.created_at,
    )
    olga.organiser_roles.update(competition=other)
    assert browser.get(reverse("admin:rounds_round_change", args=[round_.pk])).status_code == 302
    page = reverse("admin:rounds_round_cancel", args=[round_.pk])
    assert browser.post(page, {"confirmed": "yes", "reason": "mine"}).status_code == 403
    assert "Select a valid choice" in browser.post(ADD, plan_form(env)).content.decode()
    assert Round.objects.get().state == "planned"
