"""The site's files are private, regardless of the umask at the start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as configured

# like a web server: settings, a database, a cache, a broker, a stored object and a repository
USE = """
import django; django.setup()
from django.core.cache import cache
from django.db import connection
from config import celery_app
from core import object_store
from repositories.git_command import new_repository
from django.conf import settings
connection.ensure_connection(); connection.cursor().execute("create table one (id int)")
cache.set("key", 1); object_store.put(b"secret images")
with new_repository(settings.REPOSITORIES / "owls.git"): pass
with celery_app.connection() as broker: broker.SimpleQueue("queue").put({})
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state folder of a site whose program was started with the usual umask."""
    env = {
        "PATH": "/usr/bin:/bin",
        "GAUNTLET_STATE": str(tmp_path / "state"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{configured.ROOT / 'platform'}",
    }
    subprocess.run([sys.executable, "-c", USE], env=env, check=True, umask=0o022)
    return tmp_path / "state"


def test_no_file_of_the_site_is_readable_by_others_despite_an_open_umask(state: Path) -> None:
    kept = [state, *state.rglob("*")]
    assert {"site.sqlite3", "secret-key", "static", "cache", "broker", "objects", "owls.git"} <= {
        path.name for path in kept
    }
    assert [str(path) for path in kept if path.stat().st_mode & 0o077] == []
