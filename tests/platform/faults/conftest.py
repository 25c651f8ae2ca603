"""A season in one process, whose external calls are counted, and whose players nobody starts."""

from __future__ import annotations

import random
import secrets
from pathlib import Path

import pytest
from celery import current_app
from pytest_django import Settings

from core import database_retry
from tests.platform.conftest import FakeClock
from tests.platform.faults.external_calls import ExternalCalls, watch
from tests.platform.faults.made_up_players import Players
from tests.platform.faults.seasons import Season
from tests.platform.formats.test_conformance import document_of
from workers import lease, tasks


@pytest.fixture
def calls() -> ExternalCalls:
    """The external calls of the site."""
    return ExternalCalls()


@pytest.fixture
def season(
    db: None, root: Path, name: str, the_clock: FakeClock, calls: ExternalCalls, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path, settings: Settings,
) -> Season:  # fmt: skip
    """The season of a format, before the first push."""
    folder = tmp_path / "state"
    folder.mkdir()
    settings.STATE, settings.REPOSITORIES, settings.CHECKOUTS = folder, folder / "repositories", folder / "checkouts"
    objects = settings.STORAGES["objects"] | {"OPTIONS": {"location": folder / "objects"}}
    settings.STORAGES = settings.STORAGES | {"objects": objects}
    current_app.loader.import_default_modules()  # as a worker does when it starts
    monkeypatch.setattr(database_retry, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(tasks, "NOTIFY_AGAIN_SECONDS", 0.0)  # by the host's own clock
    monkeypatch.setattr(lease.Heartbeat, "_run", lambda self: None)  # its calls would have other numbers in each run
    # what is drawn is equal in every run
    monkeypatch.setattr(secrets, "token_hex", lambda size: "07" * size)
    monkeypatch.setattr(secrets, "randbits", lambda size: 7)
    monkeypatch.setattr(secrets, "SystemRandom", lambda: random.Random(7))
    Players(calls, the_clock).install(monkeypatch, name)
    season = Season(document_of(root, name), name, folder, the_clock, calls)
    watch(calls, monkeypatch, season.site.messages)
    return season
