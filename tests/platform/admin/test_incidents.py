"""The first page of the admin shows what needs a person, with links to exactly these rows."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from competitions.models import Competition, Organiser
from core import clock
from formats.query.leaderboards.models import Evaluation
from formats.query.matches.models import Match, Piece
from formats.transfer.tournaments.models import AttackRun, DefenceRun
from pages.status.admin_incidents import Card
from rounds.models import Round
from submissions.models import QuotaSlot, Submission
from workers.models import Host, Worker


def cards(client: Client) -> dict[str, str]:
    """Return the links of the cards by title and count."""
    page = client.get(reverse("admin:index"))
    assert page.status_code == 200
    text = page.content.decode()
    for card in page.context["incidents"]:
        assert f"{card.title}: {card.count}" in text
        assert re.search(rf'href="{re.escape(card.link)}"', unescape(text))
    return {f"{card.title}: {card.count}": card.link for card in page.context["incidents"]}


@pytest.fixture
def failures(rows: Any) -> Submission:
    """One row of each kind of failure."""
    submission: Submission = rows.more()
    evaluation = Evaluation.objects.get()
    evaluation.matches.add(Match.objects.get())
    Evaluation.objects.update(state="playing", counts=True)
    player = submission.player
    assert player is not None
    Worker.objects.update(last_seen_at=clock.now() - timedelta(minutes=5))
    Host.objects.update(check_due_at=clock.now())
    Piece.objects.create(
        match=Match.objects.create(
            rules=rows.rules,
            sample_set=rows.sets["development"],
            model=player,
            attack=player,
            seed=1,
            created_at=rows.at,
        ),
        number=0,
        first=0,
        count=2,
        faults=3,
        fault_hosts={"arena-1": 3},
        queued_at=rows.at,
    )
    AttackRun.objects.update(state="waiting", host_faults=3)
    DefenceRun.objects.update(state="waiting", faults=3)
    Submission.objects.update(state="rejected", cause="platform", state_since=clock.now())
    QuotaSlot.objects.update(state="used", reason="awaits_organiser")
    return submission


def test_each_kind_of_incident_has_a_card_whose_link_lists_as_many_rows_as_it_counts(
    as_superuser: Client, failures: Submission
) -> None:
    found = cards(as_superuser)
    assert {title.partition(":")[0] for title in found} == {
        "Hosts out of service",
        "Workers without a heartbeat",
        "Benchmarks given up",
        "Verifications of proofs given up",
        "Failed matches",
        "Pieces that wait after faults",
        "Runs of attacks that wait after faults",
        "Runs of defences that wait after faults",
        "Submissions ended by platform errors",
        "Slots that only an organiser refunds",
        "Objections without an answer",
        "Pieces waiting, the oldest for more than a day",
    }
    assert found.pop("Pieces waiting, the oldest for more than a day: 1") == reverse("pages:status")
    for title, link in found.items():
        listed = as_superuser.get(link)
        assert listed.status_code == 200, link
        assert listed.context["cl"].result_count == int(title.rpartition(" ")[2]), title


def test_workers_without_a_heartbeat_are_worse_where_no_other_is_online(
    as_superuser: Client, failures: Submission
) -> None:
    def text() -> str:
        shown: list[Card] = as_superuser.get(reverse("admin:index")).context["incidents"]
        return next(card.text for card in shown if card.title.startswith("Workers"))

    assert text() == "No other worker is online, so nothing is played. Start one."
    Worker.objects.create(name="there/1", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
    assert text() == "Other workers play their pieces again."


def test_without_incidents_it_says_so(as_superuser: Client) -> None:
    page = as_superuser.get(reverse("admin:index")).content.decode()
    assert "None. No work waits for you because of a platform error." in page


def test_organisers_see_those_of_their_competitions_and_no_hosts(
    as_organiser: Client, failures: Submission, competition: Competition
) -> None:
    titles = set(cards(as_organiser))
    assert "Failed matches: 1" in titles
    assert not [title for title in titles if title.startswith(("Hosts", "Workers"))]
    assert Host.objects.get().problem not in as_organiser.get(reverse("admin:index")).content.decode()
    Organiser.objects.all().delete()
    other = Competition.objects.create(
        slug="other", title="Other", starts_at=clock.now(), ends_at=clock.now(), created_at=clock.now()
    )
    Organiser.objects.create(competition=other, user_id=as_organiser.session["_auth_user_id"])
    assert cards(as_organiser) == {}


def test_void_evaluations_have_a_card(as_superuser: Client, failures: Submission) -> None:
    Evaluation.objects.update(state="void", cause="platform")
    cache.set("void-evaluations", [Evaluation.objects.get().pk])
    found = cards(as_superuser)
    assert "Evaluations without a score: 1" in found
    assert "Failed matches: 1" in found, "the evaluation needs it"


def test_what_a_drained_host_played_is_listed_until_it_is_rejudged(
    as_superuser: Client, as_organiser: Client, failures: Submission
) -> None:
    worker = Worker.objects.create(name="bad/0", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
    evaluation = Evaluation.objects.get()
    piece = Piece.objects.filter(match__evaluations=evaluation)[0]
    now = clock.now()
    Piece.objects.filter(pk=piece.pk).update(state="played", worker=worker, claimed_at=now, played_at=now)
    Evaluation.objects.update(state="scored")
    Submission.objects.update(state="ready")
    Round.objects.update(state="cancelled")
    titles = {"Evaluations with pieces of drained hosts: 1", "Pieces of drained hosts that count: 1"}
    assert not titles & set(cards(as_organiser))
    Host.objects.create(name="bad", doubtful_until=clock.now())
    assert titles <= set(cards(as_organiser))
    evaluation.matches.clear()  # as after a rejudging: the submission's score uses other matches
    assert not titles & set(cards(as_organiser))


def test_a_failed_match_that_nothing_needs_is_no_incident(as_superuser: Client, failures: Submission) -> None:
    Evaluation.objects.update(state="scored")
    Round.objects.update(state="cancelled")
    assert not [title for title in cards(as_superuser) if title.startswith("Failed matches")]
    Submission.objects.update(state_since=clock.now() - timedelta(days=8))
    assert not [title for title in cards(as_superuser) if title.startswith("Submissions")]
