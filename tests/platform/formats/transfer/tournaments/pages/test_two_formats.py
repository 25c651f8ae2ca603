"""Pages over all competitions show each format that is played, and nothing of the others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.models import Competition
from core import clock
from formats.query.matches.models import Match, Piece
from formats.transfer.tournaments import services
from formats.transfer.tournaments.models import AttackRun, Run
from submissions.models import Submission
from workers.models import Worker

QUERY = ("median of these distances", "gauntlet init my-model", "Pieces waiting")
TRANSFER = ("score of an attack is the share", "gauntlet init my-attack", "Runs waiting")
BOTH = (
    "<h3>Query format</h3>",
    "<h3>Transfer format</h3>",
    "The tracks of the transfer format are",
    "in the query format against every opponent in the pool of the other side, "
    "in the transfer format against every opponent of the other side.",
)


@pytest.fixture
def text(client: Client) -> Callable[..., str]:
    """Return pages with single spaces, one after the other."""

    def read(*names: str) -> str:
        return " ".join(" ".join(client.get(reverse(name)).content.decode().split()) for name in names)

    return read


@pytest.fixture
def both(competition: Competition, transfer: Competition) -> None:
    """Both competitions are open and public."""
    now = clock.now()
    Competition.objects.update(public=True, starts_at=now - timedelta(days=1), ends_at=now + timedelta(days=9))


@pytest.mark.usefixtures("both")
def test_a_site_with_one_format_explains_only_that(text: Callable[..., str], competition: Competition) -> None:
    pages = ("pages:home", "pages:docs", "pages:status")
    competition.tracks.all().delete()
    competition.delete()
    page = text(*pages)
    assert all(each in page for each in TRANSFER)
    assert not any(each in page for each in (*QUERY, *BOTH))


def test_a_site_without_competitions_explains_the_first_format(text: Callable[..., str], db: None) -> None:
    page = text("pages:home", "pages:docs", "pages:status")
    assert all(each in page for each in QUERY)
    assert not any(each in page for each in (*TRANSFER, *BOTH))


@pytest.mark.usefixtures("both", "sample_sets")
def test_a_competition_leads_to_the_tutorials_of_its_tracks(
    client: Client, competition: Competition, transfer: Competition
) -> None:
    query_page, transfer_page = (
        client.get(reverse("pages:competition", args=[each.slug])).content.decode() for each in (competition, transfer)
    )
    assert "/docs/first-attack" in query_page
    assert "/docs/first-defence" not in query_page
    assert "/docs/first-defence" in transfer_page
    assert "/docs/first-attack" not in transfer_page


@pytest.mark.usefixtures("both")
def test_a_site_with_two_formats_explains_both(text: Callable[..., str]) -> None:
    docs = text("pages:docs")
    assert all(each in docs for each in BOTH)
    assert docs.index("Query format") < docs.index("Transfer format")
    assert "gauntlet init my-model" in docs
    assert "gauntlet init my-attack" not in docs, "one example is enough"
    assert "median of these distances" in text("pages:home")


@pytest.mark.usefixtures("both")
def test_the_status_page_adds_the_work_of_both_formats(
    text: Callable[..., str], match: Match, transfer: Competition, sent: dict[str, Submission]
) -> None:
    services.advance(services.make_tournament(transfer))
    page = text("pages:status")
    assert page.index("Pieces waiting") < page.index("Runs waiting") < page.index("Submissions building or waiting")
    pieces = Piece.objects.count()
    assert f"No worker is online</strong> {pieces} pieces wait in the queue. 6 runs wait in the queue." in page
    Worker.objects.create(name="here/0", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
    stuck: dict[str, Any] = {"faults": 3, "fault_hosts": {"here": 3}}
    Piece.objects.filter(number=0).update(**stuck)
    first = AttackRun.objects.earliest("pk")
    AttackRun.objects.filter(pk=first.pk).update(**stuck)
    AttackRun.objects.exclude(pk=first.pk).update(state=Run.State.FAILED)
    page = text("pages:status")
    assert "Some work waits after platform errors</strong> 2 pieces and runs failed several times" in page
    assert page.index("Some runs failed") < page.index("Some work waits"), "the worst first"
