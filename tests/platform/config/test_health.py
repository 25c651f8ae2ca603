"""The health check `/healthz`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from django.conf import settings as configured
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

ASK = "import django; django.setup(); from django.test import Client; a = Client().get('/healthz'); "
ASK += "print(a.status_code, a.content)"


def test_the_answer_is_a_plain_ok_with_one_query_no_cache_and_no_cookie(
    client: Client, db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")
    assert response.headers["Cache-Control"] == "no-store"
    assert not response.cookies


def test_it_needs_no_host_name_and_no_tls(client: Client, db: None, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/healthz", headers={"Host": "10.0.0.7"}).status_code == 200


def test_it_reports_an_unreachable_database_without_details(tmp_path: Path) -> None:
    env = {
        "DATABASE_URL": f"sqlite:///{tmp_path}/no/such/folder/secret.sqlite3",
        "GAUNTLET_STATE": str(tmp_path / "state"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{configured.ROOT / 'platform'}",
    }
    done = subprocess.run([sys.executable, "-c", ASK], env=env, check=True, capture_output=True, text=True)
    assert done.stdout == "503 b'the database cannot be reached\\n'\n"


def test_it_rejects_post(client: Client) -> None:
    assert client.post("/healthz").status_code == 405
