"""The address by which proxies and monitoring tell whether a web server works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from django.conf import settings as configured
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

ASK = "import django; django.setup(); from django.test import Client; a = Client().get('/healthz'); "
ASK += "print(a.status_code, a.content)"


def test_it_works(client: Client, db: None, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")
    assert answer.headers["Cache-Control"] == "no-store"
    assert not answer.cookies


def test_it_asks_for_no_name_and_no_tls(client: Client, db: None, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/healthz", headers={"Host": "10.0.0.7"}).status_code == 200


def test_it_says_that_the_database_is_away_and_nothing_more(tmp_path: Path) -> None:
    env = {
        "DATABASE_URL": f"sqlite:///{tmp_path}/no/such/folder/secret.sqlite3",
        "GAUNTLET_STATE": str(tmp_path / "state"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{configured.ROOT / 'platform'}",
    }
    done = subprocess.run([sys.executable, "-c", ASK], env=env, check=True, capture_output=True, text=True)
    assert done.stdout == "503 b'the database cannot be reached\\n'\n"


def test_it_takes_no_post(client: Client) -> None:
    assert client.post("/healthz").status_code == 405
