"""The check that strangers' players are never run by the process sandbox."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from submissions.trust import check_trust


def test_it_works(settings: Settings) -> None:
    settings.SANDBOX, settings.ALLOWED_HOSTS = "process", ["localhost", "127.0.0.1", "[::1]"]

    assert check_trust(None) == []


@pytest.mark.parametrize("host", ["arena.example.org", "*", ".example.org", "10.0.0.7"])
def test_it_rejects_the_process_sandbox_on_a_site_that_others_reach(settings: Settings, host: str) -> None:
    settings.SANDBOX, settings.ALLOWED_HOSTS = "process", ["localhost", host]

    (error,) = check_trust(None)

    assert host in error.msg
    assert "GAUNTLET_SANDBOX=docker" in str(error.hint)


def test_docker_may_be_reached_by_anybody(settings: Settings) -> None:
    settings.SANDBOX, settings.ALLOWED_HOSTS = "docker", ["arena.example.org"]

    assert check_trust(None) == []
