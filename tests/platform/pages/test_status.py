"""The status page."""

from __future__ import annotations

import pytest
from django.test import Client

from core import clock
from submissions.models import Host


@pytest.mark.django_db
def test_it_tells_everybody_which_hosts_are_out_of_service_and_nobody_why(client: Client) -> None:
    Host.objects.create(name="arena-1", out_since=clock.now(), problem="a secret path")
    Host.objects.create(name="arena-2")
    page = client.get("/status").content.decode()
    assert "arena-1 is out of service" in page
    assert "arena-2" not in page
    assert "a secret path" not in page
