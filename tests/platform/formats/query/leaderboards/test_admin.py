"""Rejudging and freezing leaderboards in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.models import Competition, Entry
from core.models import Event
from formats.query.leaderboards.models import Evaluation, Pool, Rejudging, Snapshot
from formats.query.leaderboards.tasks import sweep
from formats.query.matches.models import Match
from submissions.models import Submission

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries

    from tests.platform.formats.query.leaderboards.conftest import BoardFixture

EVALUATIONS = reverse("admin:leaderboards_evaluation_changelist")


@pytest.fixture
def admin(olga: User, client: Client) -> Client:
    """Olga's browser."""
    User.objects.filter(pk=olga.pk).update(is_staff=True)
    client.force_login(olga)
    return client


@pytest.fixture
def scored(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> list[Evaluation]:
    """Of the Owls and of the Doves."""
    doves = env.entry("doves")
    return [env.score(env.submission(each, "model", alice), value) for each, value in ((entry, 1.0), (doves, 2.0))]


def act(admin: Client, name: str, *rows: Any) -> list[str]:
    form = {"action": name, "_selected_action": [row.pk for row in rows], "confirmed": "yes", "reason": "it must be"}
    page = reverse(f"admin:{rows[0]._meta.label_lower.replace('.', '_')}_changelist")
    done = admin.post(page, form)
    return [str(message) for message in get_messages(done.wsgi_request)]


def test_chosen_evaluations_are_rejudged_as_one_set_and_published(
    admin: Client, env: BoardFixture, scored: list[Evaluation], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    requested = admin.post(EVALUATIONS, {"action": "rejudge", "_selected_action": [row.pk for row in scored]})
    assert "Rejudge: 2 evaluations" in requested.content.decode()
    assert act(admin, "rejudge", *scored) == ["2 of 2 sent to rejudging."]
    rejudging = Rejudging.objects.get()
    assert rejudging.evaluations.count() == 2, "one set for all chosen rows"
    for match in Match.objects.filter(repetition=rejudging.pk):
        env.play(match, [3.0] * 6)
    sweep()
    with django_assert_max_num_queries(19):
        page = admin.get(reverse("admin:leaderboards_rejudging_change", args=[rejudging.pk])).content.decode()
    for text in ("Changed samples", "The Owls", "Doves"):
        assert text in page
    assert act(admin, "publish", rejudging)[-1] == "1 of 1 published."
    assert [row[0] for row in env.table("model")] == [1, 1]


def test_a_set_is_not_rejudged_if_one_of_its_rows_changed_since_the_page(
    admin: Client, scored: list[Evaluation]
) -> None:
    form: dict[str, Any] = {"action": "rejudge", "_selected_action": [row.pk for row in scored]}
    page = admin.post(EVALUATIONS, form)
    assert {each.row for each in page.context["rows"]} == set(scored)
    assert not Rejudging.objects.exists()
    assert "Costs:" in page.content.decode()
    form |= {f"state-{each.row.pk}": each.state for each in page.context["rows"]}
    Evaluation.objects.filter(pk=scored[0].pk).update(failures=3)
    refused = admin.post(EVALUATIONS, form | {"confirmed": "yes", "reason": "it must be"})
    (said,) = [str(message) for message in get_messages(refused.wsgi_request)]
    assert said.startswith("Rejudge: ")
    assert "has changed since you looked at it" in said
    assert not Rejudging.objects.exists()


def test_it_is_discarded_and_replayed_there_too(admin: Client, scored: list[Evaluation]) -> None:
    act(admin, "rejudge", scored[0])
    rejudging = Rejudging.objects.get()
    Match.objects.filter(repetition=rejudging.pk).update(state="failed")
    sweep()
    assert act(admin, "replay", rejudging)[-1] == "1 of 1 queued again."
    assert act(admin, "discard", rejudging)[-1] == "1 of 1 discarded."


def test_it_rejects_a_set_as_a_whole(admin: Client, scored: list[Evaluation]) -> None:
    Submission.objects.filter(pk=scored[0].submission_id).update(state="withdrawn")
    reported = act(admin, "rejudge", *scored)
    assert len(reported) == 1
    assert reported[0].startswith("Rejudge: submission")
    assert not Rejudging.objects.exists()


def test_leaderboards_are_frozen_and_unfrozen_from_the_page_of_the_competition(
    admin: Client, scored: list[Evaluation], olga: User
) -> None:
    competition = Competition.objects.get()
    page = reverse("admin:competitions_competition_change", args=[competition.pk])
    assert "freeze_leaderboards" in admin.get(page).content.decode()
    assert act(admin, "freeze_leaderboards", competition) == ["1 of 1 frozen."]
    assert Snapshot.objects.count() == 3
    assert act(admin, "unfreeze_leaderboards", competition)[-1] == "1 of 1 unfrozen."
    assert [event.reason for event in Event.objects.filter(verb__in=["freeze", "unfreeze"], by=olga)] == [
        "it must be"
    ] * 2
