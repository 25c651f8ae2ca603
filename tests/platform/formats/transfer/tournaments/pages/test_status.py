"""The status page of a site with a competition of the transfer format: runs, their workers, and what delays them."""

from __future__ import annotations

import pytest
from django.test import Client

from competitions.models import Competition
from formats.transfer.tournaments import services
from formats.transfer.tournaments.models import AttackRun, Run
from submissions.models import Submission
from tests.platform.claims import claim_run
from workers.heartbeat import register
from workers.models import Worker
from workers.slot_device import slot
from workers.tasks import play


def text_of(client: Client) -> str:
    """Return the page with single spaces."""
    return " ".join(client.get("/status").content.decode().split())


def figure(page: str, name: str) -> int:
    """Return a number of the page."""
    return int(page.split(f'{name}</dt><dd class="large">')[1].split("<")[0])


def test_it_counts_runs_and_their_workers(client: Client, transfer: Competition, sent: dict[str, Submission]) -> None:
    services.advance(services.make_tournament(transfer))
    page = text_of(client)
    assert "Pieces waiting" not in page
    assert (figure(page, "Runs waiting"), figure(page, "Runs being played")) == (6, 0)
    assert "the oldest:" in page
    assert "No worker is online</strong> 6 runs wait in the queue." in page
    worker = register(slot())
    run = claim_run(worker.name)
    page = text_of(client)
    assert (figure(page, "Runs waiting"), figure(page, "Runs being played")) == (5, 1)
    assert "No incidents</strong> Submissions are built and played." in page
    assert page.count('<td class="end" data-label="Playing now">1</td>') == 1, "the worker holds it"
    assert run is not None
    AttackRun.objects.filter(pk=run.pk).update(state=Run.State.FAILED, lease_until=None)
    assert "Some runs failed</strong> Platform errors ended 1 run." in text_of(client)


def test_a_worker_that_finds_no_run_is_online(client: Client, transfer: Competition) -> None:
    play()
    assert Worker.objects.count() == 1
    assert "No worker is online" not in text_of(client)


@pytest.mark.usefixtures("played")
def test_it_says_when_the_newest_submission_counted(client: Client) -> None:
    assert 'Newest score</dt><dd class="large">none yet' not in text_of(client)
