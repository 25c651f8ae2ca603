"""A player in the process sandbox sees nothing of the site, even if its state is in a shared folder."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.sandbox.base import SOCKET_NAME, Sandbox
from workers import sandboxes

Opened = Callable[[], Sandbox]

READ = """
import json, sys
def read(path):
    try:
        return open(path).read(6)
    except OSError:
        return ""
print(json.dumps([path for path in sys.argv[1:] if read(path)]))
"""


@pytest.mark.parametrize("opened", [sandboxes.open_sandbox, sandboxes.trusted_sandbox])
def test_a_player_cannot_read_keys_samples_or_the_database(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Opened
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sandboxes, "_open", {})
    with tempfile.TemporaryDirectory(dir=sys.prefix) as inside:
        settings.STATE = Path(inside) / "state"
        database = Path(inside) / "site.sqlite3"
        monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")
        monkeypatch.setitem(settings.DATABASES["default"], "NAME", str(database))
        checkout = settings.STATE / "checkouts" / "7"
        checkout.mkdir(parents=True)
        secrets = [
            settings.STATE / "secret-key",
            settings.STATE / "objects" / "samples",
            database,
            Path(f"{database}-wal"),
        ]
        for secret in secrets:
            secret.parent.mkdir(exist_ok=True)
            secret.write_text("secret")
        (checkout / "main.py").write_text(READ)
        socket_directory = tmp_path / "socket"
        socket_directory.mkdir()
        (socket_directory / SOCKET_NAME).touch()
        asked = [*secrets, settings.ROOT / "manage.py", checkout / "main.py"]
        player = QueryPlayer(
            "nosy", ("python", "main.py", *map(str, asked)), "digest", directory=checkout, track=TrackName.MODEL
        )
        run = opened().start(player, socket_directory=socket_directory, resources=sandboxes.resources())
        deadline = time.monotonic() + 30.0
        while not run.ended() and time.monotonic() < deadline:
            time.sleep(0.02)
        ending = run.end()
    assert ending.exit_code == 0, ending.log
    assert json.loads(ending.log) == [str(checkout / "main.py")]
