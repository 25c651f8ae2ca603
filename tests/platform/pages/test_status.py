"""The status page."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db.models import F
from django.test import Client

from accounts.models import User
from core import clock
from formats.query.leaderboards.models import Evaluation
from formats.query.matches.models import Match, Piece
from submissions.models import QuotaSlot, Submission
from workers.host_comparisons import drain
from workers.models import Host, Worker
from workers.selectors import live_workers, workers_without_heartbeat
from workers.services import record_start, record_stop, record_worker


@pytest.fixture(autouse=True)
def hosts(db: None) -> None:
    """Two hosts with a worker each; one is out of service."""
    Host.objects.create(name="arena-1", out_since=clock.now(), check_due_at=clock.now(), problem="a secret path")
    Host.objects.create(name="arena-2")
    for name in ("arena-1/0", "arena-2/0"):
        Worker.objects.create(name=name, worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())


def test_it_shows_that_a_host_is_out_of_service_without_its_name_and_problem(client: Client, alice: User) -> None:
    for _ in range(2):
        page = client.get("/status").content.decode()
        assert "A host is out of service" in page
        assert "arena" not in page
        assert "a secret path" not in page
        assert re.findall(r"Worker \d|online|out of service</span>", page) == [
            *("Worker 1", "out of service</span>"),
            *("Worker 2", "online"),
        ]
        client.force_login(alice)


def test_it_names_hosts_to_organisers(client: Client, olga: User) -> None:
    User.objects.filter(pk=olga.pk).update(is_staff=True)
    client.force_login(olga)
    page = client.get("/status").content.decode()
    assert "arena-1 is out of service" in page
    assert "arena-2 is" not in page
    assert "a secret path" not in page
    assert re.findall(r"arena-\d/0|online|out of service</span>", page) == [
        *("arena-1/0", "out of service</span>"),
        *("arena-2/0", "online"),
    ]


def test_only_organisers_see_clock_offsets(client: Client, olga: User) -> None:
    for name, skew in (("fast", 31.4), ("slow", -7.0), ("right", 0.2)):
        Worker.objects.create(
            name=name, worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now(), clock_skew=skew
        )
    gone = clock.now() - timedelta(hours=23)
    Worker.objects.create(name="gone", worker_class="cpu", started_at=gone, last_seen_at=gone, clock_skew=31.0)
    warning = r"The clock of (\w+) is ([\w ]+)</strong>"
    page = client.get("/status").content.decode()
    assert (re.findall(warning, page), "in sync" in page) == ([], False)
    User.objects.filter(pk=olga.pk).update(is_staff=True)
    client.force_login(olga)
    page = client.get("/status").content.decode()
    assert re.findall(warning, page) == [("fast", "31 s ahead"), ("slow", "7 s behind")]
    assert "in sync" in page


def record(name: str) -> Worker:
    """The worker starts."""
    return record_worker(name=name, worker_class="cpu", device="", calibration=1.0, started_at=clock.now())


def text_of(client: Client) -> str:
    """Return the page with single spaces."""
    return " ".join(client.get("/status").content.decode().split())


def test_without_incidents_it_says_so(client: Client) -> None:
    Host.objects.update(out_since=None)
    page = text_of(client)
    assert "No incidents</strong> Nothing is waiting." in page
    assert 'Newest score</dt><dd class="large">none yet' in page


def test_it_says_in_plain_words_what_delays_results(client: Client, played_match: Match) -> None:
    Evaluation.objects.update(state=Evaluation.State.PLAYING)
    Match.objects.update(state=Match.State.FAILED)
    assert "Platform errors ended 1 match. The scores that need it are late" in text_of(client)
    Match.objects.update(state=Match.State.SUSPENDED)
    assert "An organiser suspended 1 match." in text_of(client)
    Match.objects.update(state=Match.State.PLAYING, needs_gpu=True)
    Piece.objects.update(state=Piece.State.WAITING)
    assert "No worker with a GPU is online</strong> 3 pieces wait that need one" in text_of(client)
    Worker.objects.update(last_seen_at=clock.now() - timedelta(minutes=5))
    page = text_of(client)
    assert "No worker is online</strong> 3 pieces wait in the queue." in page
    assert "No incidents" not in page


def test_a_worker_that_stopped_reporting_is_an_incident(client: Client) -> None:
    Worker.objects.filter(name="arena-1/0").update(last_seen_at=clock.now() - timedelta(minutes=5))
    assert "1 worker has stopped reporting" in text_of(client)


def test_nobody_misses_a_worker_that_was_stopped(client: Client) -> None:
    worker = record("arena-2/0")
    record_stop([worker.name])
    Worker.objects.filter(pk=worker.pk).update(last_seen_at=clock.now() - timedelta(minutes=5))
    page = text_of(client)
    assert "stopped reporting" not in page
    assert re.findall(r"Worker \d", page) == ["Worker 1"], "it is not listed"
    assert not live_workers().filter(pk=worker.pk).exists()
    assert workers_without_heartbeat() == 0
    record_start([worker.name])
    assert workers_without_heartbeat() == 1, "started again, it gets a task, with which it registers"
    record(worker.name)
    assert live_workers().filter(pk=worker.pk).exists()


def test_it_lists_lost_workers_for_a_day(client: Client) -> None:
    Worker.objects.filter(name="arena-2/0").update(last_seen_at=clock.now() - timedelta(hours=23))
    assert text_of(client).count(">offline<") == 1
    Worker.objects.filter(name="arena-2/0").update(last_seen_at=clock.now() - timedelta(hours=25))
    assert ">offline<" not in text_of(client)


def test_it_counts_what_a_worker_holds(client: Client, played_match: Match) -> None:
    holder = Worker.objects.get(name="arena-2/0")
    Piece.objects.filter(pk=Piece.objects.earliest("pk").pk).update(state=Piece.State.CLAIMED, worker=holder)
    assert re.findall(r'data-label="Playing now">(\d)<', text_of(client)) == ["0", "1"]


def test_it_shows_the_age_of_the_newest_score_and_the_calibration(client: Client, shown: object) -> None:
    Evaluation.objects.update(finished_at=clock.now() - timedelta(hours=3))
    Worker.objects.update(calibration=1.75)
    page = text_of(client)
    assert "3 h ago</time>" in page
    assert '<td class="end nowrap" data-label="Time factor">&times; 1.75</td>' in page


def test_a_drained_host_waits_for_a_person(client: Client, olga: User) -> None:
    Host.objects.update(check_due_at=None, doubtful_until=F("out_since"))
    page = text_of(client)
    assert "A host is drained</strong> Its results differ from those of other hosts." in page
    assert "It resumes when the check passes" not in page
    User.objects.filter(pk=olga.pk).update(is_staff=True)
    client.force_login(olga)
    assert "arena-1 is drained</strong>" in text_of(client)


def test_a_host_that_an_operator_drains_has_no_doubtful_results(client: Client, olga: User) -> None:
    """Also where its results differed once, and it was returned to service since."""
    Host.objects.filter(name="arena-2").update(doubtful_until=clock.now() - timedelta(days=1))
    drain(Worker.objects.get(name="arena-2/0"), olga, "Its disk gets replaced.")
    page = text_of(client)
    assert "A host is drained</strong> The operators have taken it out of service." in page
    assert "differ from those" not in page
    assert "disk" not in page


def test_it_says_whether_hosts_repeat_results_of_each_other(client: Client) -> None:
    assert "With fewer than two live hosts in service, no result is repeated on a second one." in text_of(client)
    Host.objects.update(out_since=None)
    assert "Hosts repeat a part of each other's results." in text_of(client)
    Worker.objects.filter(name="arena-1/0").delete()
    Worker.objects.create(name="arena-2/1", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
    assert "With fewer than two live hosts in service, no result is repeated on a second one." in text_of(client)


def test_late_builds_and_a_site_without_workers_are_incidents(client: Client, shown: dict[str, Submission]) -> None:
    Submission.objects.filter(pk=shown["building"].pk).update(received_at=clock.now() - timedelta(hours=25))
    assert "Builds are late</strong> 1 submission waits for more than a day" in text_of(client)
    Worker.objects.all().delete()
    assert "No worker is online</strong> New submissions wait." in text_of(client)


def test_platform_errors_that_wait_for_somebody_are_incidents(
    client: Client, shown: dict[str, Submission], played_match: Match
) -> None:
    """After everything has ended: nothing is played, and yet teams wait."""
    failed = shown["building"]
    Submission.objects.filter(pk=failed.pk).update(
        state="rejected", cause="platform", state_since=clock.now(), problem="a secret path"
    )
    QuotaSlot.objects.create(
        repository=failed.repository,
        commit=failed.commit,
        tag="submission-9",
        reserved_by=failed.submitted_by,
        reserved_at=clock.now(),
        state="used",
        reason="awaits_organiser",
    )
    evaluation = Evaluation.objects.filter(matches=played_match)[0]
    Evaluation.objects.filter(pk=evaluation.pk).update(state="void", cause="platform")
    Match.objects.filter(pk=played_match.pk).update(state="failed", fault="a secret path")
    waits = Match.objects.create(
        rules=played_match.rules,
        sample_set=played_match.sample_set,
        model=played_match.model,
        attack=played_match.model,
        seed=1,
        created_at=clock.now(),
    )
    Piece.objects.create(match=waits, number=0, first=0, count=2, host_faults=3)
    cache.set("void-evaluations", [evaluation.pk])
    page = text_of(client)
    assert "Some submissions have no score</strong> Platform errors ended 1 evaluation." in page
    assert "Some matches failed</strong> Platform errors ended 1 match." in page
    assert "Some submissions could not be built or checked</strong> Platform errors ended 1 submission." in page
    assert "Some slots wait for a refund</strong> Platform errors used 1 slot." in page
    assert "Some work waits after platform errors</strong> 1 piece or run failed several times" in page
    assert "No incidents" not in page
    assert "a secret path" not in page
