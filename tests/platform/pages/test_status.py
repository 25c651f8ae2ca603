"""The status page."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from core import clock
from matches.models import Worker
from submissions.models import Host


@pytest.fixture(autouse=True)
def hosts(db: None) -> None:
    """Two hosts with a worker each; one is out of service."""
    Host.objects.create(name="arena-1", out_since=clock.now(), problem="a secret path")
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
    gone = clock.now() - timedelta(days=1)
    Worker.objects.create(name="gone", worker_class="cpu", started_at=gone, last_seen_at=gone, clock_skew=31.0)
    warning = r"The clock of (\w+) is ([\w ]+)</strong>"
    page = client.get("/status").content.decode()
    assert (re.findall(warning, page), "in sync" in page) == ([], False)
    User.objects.filter(pk=olga.pk).update(is_staff=True)
    client.force_login(olga)
    page = client.get("/status").content.decode()
    assert re.findall(warning, page) == [("fast", "31 s ahead"), ("slow", "7 s behind")]
    assert "in sync" in page
