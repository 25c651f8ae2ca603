"""The status page."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from core import clock
from matches.models import Worker
from submissions.models import Host


@pytest.mark.django_db
def test_it_tells_everybody_which_hosts_are_out_of_service_and_nobody_why(client: Client) -> None:
    Host.objects.create(name="arena-1", out_since=clock.now(), problem="a secret path")
    Host.objects.create(name="arena-2")
    for name in ("arena-1/0", "arena-2/0"):
        Worker.objects.create(name=name, worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
    page = client.get("/status").content.decode()
    assert "arena-1 is out of service" in page
    assert "arena-2 is" not in page
    assert "a secret path" not in page
    assert re.findall(r"arena-\d/0|at work|out of service</span>", page) == [
        *("arena-1/0", "out of service</span>"),
        *("arena-2/0", "at work"),
    ]
