"""The process sandbox runs no submissions on a public site, unless the operator allows it explicitly."""

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
from workers.sandboxes import open_sandbox, trusted_sandbox

LOAD = [sys.executable, "-c", "import config.settings"]
WEB = [sys.executable, "-m", "gunicorn", "config.wsgi:application", "--check-config"]
WORKER = [sys.executable, "-m", "celery", "--app", "config", "worker", "--queues", "play", "--pool", "solo"]
BANNER = "Submissions are not isolated from this host"


def run_program(command: list[str], state: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `command` with the process sandbox and other settings until it ends."""
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
def test_it_rejects_the_process_sandbox_with_public_host_names(tmp_path: Path, command: list[str]) -> None:
    done = run_program(command, tmp_path, GAUNTLET_HOSTS="localhost,arena.example.org")
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "ImproperlyConfigured: GAUNTLET_SANDBOX is process" in output
    assert "the site answers to arena.example.org" in output
    assert "Set GAUNTLET_SANDBOX=docker" in output
    assert "GAUNTLET_TRUST_EVERYBODY=true" in output


@pytest.mark.parametrize(("variable", "value"), [("GAUNTLET_PROXIES", "1"), ("GAUNTLET_HTTPS", "true")])
def test_it_rejects_the_process_sandbox_behind_a_proxy(tmp_path: Path, variable: str, value: str) -> None:
    """A proxy may forward another host name, such as that of this host."""
    done = run_program(LOAD, tmp_path, **{variable: value})
    assert "ImproperlyConfigured" in done.stderr
    assert "the site is behind a proxy" in done.stderr


@pytest.mark.parametrize("host", ["*", ".example.org", "10.0.0.7"])
def test_a_public_host_name_is_a_problem(host: str) -> None:
    assert host in trust_problem("process", ["localhost", host], proxied=False, trust_everybody=False)


def test_the_process_sandbox_is_accepted_on_a_site_of_this_host_alone(tmp_path: Path) -> None:
    done = run_program(LOAD, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_process_sandbox_is_accepted_if_the_operator_trusts_everybody(tmp_path: Path) -> None:
    done = run_program(LOAD, tmp_path, GAUNTLET_HOSTS="arena.example.org", GAUNTLET_TRUST_EVERYBODY="true")
    assert (done.returncode, done.stderr) == (0, "")


def test_docker_works_with_public_host_names(tmp_path: Path) -> None:
    done = run_program(LOAD, tmp_path, GAUNTLET_HOSTS="arena.example.org", GAUNTLET_SANDBOX="docker")
    assert (done.returncode, done.stderr) == (0, "")


def test_no_sandbox_is_opened_and_nothing_built_with_public_host_names(settings: Settings) -> None:
    """Even if the settings changed after the start."""
    settings.ALLOWED_HOSTS = ["arena.example.org"]
    with pytest.raises(Fault, match=r"arena\.example\.org"):
        open_sandbox()
    with pytest.raises(Fault, match=r"arena\.example\.org"):
        check_host()
    trusted_sandbox()  # bundled submissions are always trusted
    settings.TRUST_EVERYBODY = True
    open_sandbox()


@pytest.mark.parametrize("address", ["/", "/accounts/login/", "/no/such/page"])
def test_every_page_warns_of_the_process_sandbox(client: Client, db: None, address: str) -> None:
    assert BANNER in client.get(address).content.decode()


def test_a_request_with_an_unknown_host_gets_the_warning(client: Client, db: None) -> None:
    assert BANNER in client.get("/", headers={"Host": "elsewhere.example"}).content.decode()


def test_the_admin_warns_of_the_process_sandbox(client: Client, root_user: User) -> None:
    client.force_login(root_user)
    for page in ("admin:index", "admin:accounts_user_changelist", "admin:accounts_user_add"):
        assert BANNER in client.get(reverse(page)).content.decode()


def test_no_page_warns_with_docker(client: Client, root_user: User, settings: Settings) -> None:
    settings.SANDBOX = "docker"
    client.force_login(root_user)
    for address in ("/", reverse("admin:index")):
        assert BANNER not in client.get(address).content.decode()
