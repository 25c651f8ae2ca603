"""Code of strangers never meets a sandbox that does not contain it, unless the operator says in so many words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import User
from core.errors import Fault
from core.sandbox_trust import trust_problem
from submissions.player_builds import check_host
from submissions.sandboxes import open_sandbox, trusted_sandbox

LOAD = [sys.executable, "-c", "import config.settings"]
WEB = [sys.executable, "-m", "gunicorn", "config.wsgi:application", "--check-config"]
WORKER = [sys.executable, "-m", "celery", "--app", "config", "worker", "--queues", "play", "--pool", "solo"]
BANNER = "Submissions are not isolated from this host"


def started(command: list[str], state: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`command` with the process sandbox and further settings, run until it ends."""
    env = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{configured.ROOT / 'platform'}",
        "GAUNTLET_STATE": str(state),
        "GAUNTLET_SANDBOX": "process",
        **environment,
    }
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", [WEB, WORKER], ids=["web", "worker"])
def test_it_rejects_the_process_sandbox_where_other_hosts_are_answered(tmp_path: Path, command: list[str]) -> None:
    done = started(command, tmp_path, GAUNTLET_HOSTS="localhost,arena.example.org")
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "ImproperlyConfigured: GAUNTLET_SANDBOX is process" in said
    assert "the site answers to arena.example.org" in said
    assert "Set GAUNTLET_SANDBOX=docker" in said
    assert "GAUNTLET_TRUST_EVERYBODY=true" in said


@pytest.mark.parametrize(("variable", "value"), [("GAUNTLET_PROXIES", "1"), ("GAUNTLET_HTTPS", "true")])
def test_it_rejects_the_process_sandbox_behind_a_proxy(tmp_path: Path, variable: str, value: str) -> None:
    """It may pass on another host name than it was asked for, such as that of this host."""
    done = started(LOAD, tmp_path, **{variable: value})
    assert "ImproperlyConfigured" in done.stderr
    assert "the site stands behind a proxy" in done.stderr


@pytest.mark.parametrize("host", ["*", ".example.org", "10.0.0.7"])
def test_a_name_that_others_can_use_is_not_this_host_alone(host: str) -> None:
    assert host in trust_problem("process", ["localhost", host], proxied=False, trust_everybody=False)


def test_it_works_on_this_host_alone(tmp_path: Path) -> None:
    done = started(LOAD, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_works_where_the_operator_trusts_everybody(tmp_path: Path) -> None:
    done = started(LOAD, tmp_path, GAUNTLET_HOSTS="arena.example.org", GAUNTLET_TRUST_EVERYBODY="true")
    assert (done.returncode, done.stderr) == (0, "")


def test_docker_may_be_reached_by_anybody(tmp_path: Path) -> None:
    done = started(LOAD, tmp_path, GAUNTLET_HOSTS="arena.example.org", GAUNTLET_SANDBOX="docker")
    assert (done.returncode, done.stderr) == (0, "")


def test_no_sandbox_is_opened_and_nothing_built_where_others_are_answered(settings: Settings) -> None:
    """Whatever the settings were when they were read."""
    settings.ALLOWED_HOSTS = ["arena.example.org"]
    with pytest.raises(Fault, match=r"arena\.example\.org"):
        open_sandbox()
    with pytest.raises(Fault, match=r"arena\.example\.org"):
        check_host()
    trusted_sandbox()  # what is bundled is trusted anywhere
    settings.TRUST_EVERYBODY = True
    open_sandbox()


@pytest.mark.parametrize("address", ["/", "/accounts/login/", "/no/such/page"])
def test_every_page_says_that_the_process_sandbox_is_on(client: Client, db: None, address: str) -> None:
    assert BANNER in client.get(address).content.decode()


def test_a_request_without_a_known_host_is_told_too(client: Client, db: None) -> None:
    assert BANNER in client.get("/", headers={"Host": "elsewhere.example"}).content.decode()


def test_the_admin_says_that_the_process_sandbox_is_on(client: Client, root_user: User) -> None:
    client.force_login(root_user)
    for page in ("admin:index", "admin:accounts_user_changelist", "admin:accounts_user_add"):
        assert BANNER in client.get(reverse(page)).content.decode()


def test_no_page_says_so_with_docker(client: Client, root_user: User, settings: Settings) -> None:
    settings.SANDBOX = "docker"
    client.force_login(root_user)
    for address in ("/", reverse("admin:index")):
        assert BANNER not in client.get(address).content.decode()
