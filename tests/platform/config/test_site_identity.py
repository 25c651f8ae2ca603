"""Programs whose state folder is not that of the database do not start, and hosts that lose it take no work."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, connections
from pytest_django import Settings

from competitions.models import SampleSet
from core import site_identity
from core.errors import HostFault
from core.models import Event, SiteIdentity
from core.site_identity import require_identity, require_identity_at_start
from repositories.models import Repository
from workers import host_health
from workers.models import Host

WORKER = [sys.executable, "-m", "celery", "--app", "config", "worker", "--queues", "play", "--concurrency", "1"]
WEB = [sys.executable, "-m", "gunicorn", "--config", "python:config.web_server", "--bind", "127.0.0.1:0"]
WEB += ["--no-control-socket"]

STARTS = """
import django
django.setup()
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from config.site_identity_check import require_site

def start(after):
    try:
        require_site()
    except ImproperlyConfigured as error:
        print(error)
    if after:
        print("---")

call_command("migrate", "core", verbosity=0)
call_command("migrate", fake=True, verbosity=0)  # of the other tables no start reads one
start(True)
for name in ("0002_that_was_replaced", "0999_of_a_later_version"):
    MigrationRecorder(connection).record_applied("rounds", name)
    start(True)
call_command("migrate", "webhooks", "zero", fake=True, verbosity=0)
start(False)
"""
"""Starts with the migrations of this version, with an older one as well, with a later one, and with fewer."""

Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_with(tmp_path: Path, root: Path) -> Program:
    """Run a program of the site with another state folder and the database of this test, until it ends."""

    def run(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
        values = connection.settings_dict
        host = f"{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT']}"
        sqlite = connection.vendor == "sqlite"
        environment = os.environ | {
            "GAUNTLET_STATE": str(folder),
            "DATABASE_URL": f"sqlite:///{values['NAME']}" if sqlite else f"postgresql://{host}/{values['NAME']}",
            "GAUNTLET_SANDBOX": "process",
            "GAUNTLET_WORKER_NAME": "host-b",
            "GAUNTLET_BROKER": f"filesystem://{tmp_path}/broker",
            "GAUNTLET_LOG_FORMAT": "text",
        }
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A state folder that is not the site's: a new one."""
    folder = tmp_path / "other"
    folder.mkdir(mode=0o700)
    return folder


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow(10)
@pytest.mark.parametrize("command", [WORKER, WEB], ids=["worker", "web"])
def test_a_program_with_another_state_folder_stops_with_the_fix_and_registers_nothing(
    run_with: Program, other: Path, command: list[str]
) -> None:
    require_identity()
    done = run_with(other, command)
    assert done.returncode != 0
    assert f"{other} is not the state folder of this site: it has no file site-identity" in done.stderr
    assert "fix: set GAUNTLET_STATE to the folder that all hosts of the site share" in done.stderr
    assert not (other / "site-identity").exists()
    assert not Host.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow(3)
def test_the_site_starts_with_its_own_folder(run_with: Program, tmp_path: Path) -> None:
    require_identity()
    assert run_with(tmp_path, [sys.executable, "-c", "import config.wsgi"]).returncode == 0


@pytest.mark.django_db
def test_a_new_site_gets_one_identifier(tmp_path: Path) -> None:
    require_identity()
    value = SiteIdentity.objects.get().value
    assert (tmp_path / "site-identity").read_text() == f"{value}\n"
    require_identity()
    assert SiteIdentity.objects.count() == 1


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.django_db(transaction=True)
def test_a_failed_first_commit_leaves_folder_and_database_equal(
    monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """Whether or not the commit took effect, the next program starts."""
    database: Any = connections["default"]
    commit = database._commit

    def fail() -> None:
        if committed:
            commit()
        raise OperationalError("the database is shutting down")

    with monkeypatch.context() as patch:
        patch.setattr(database, "_commit", fail)
        with pytest.raises(OperationalError):
            require_identity()
    require_identity()
    assert SiteIdentity.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_programs_that_start_at_once_have_one_identifier(tmp_path: Path) -> None:
    def start(_: int) -> None:
        try:
            require_identity()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, range(8)))
    assert (tmp_path / "site-identity").read_text().strip() == SiteIdentity.objects.get().value
    assert not list(tmp_path.glob("site-identity.*"))


@pytest.mark.django_db
def test_an_existing_site_gets_one_where_its_files_are(
    sample_sets: dict[str, SampleSet], settings: Settings, other: Path, tmp_path: Path
) -> None:
    """An upgrade: the first program to start may be that of the misconfigured host."""
    options = settings.STORAGES["objects"]
    settings.STATE = other
    settings.STORAGES = settings.STORAGES | {"objects": options | {"OPTIONS": {"location": other / "objects"}}}
    with pytest.raises(HostFault, match="has none of the repositories or none of the sample sets"):
        require_identity()
    assert not SiteIdentity.objects.exists()
    settings.STATE = tmp_path
    settings.STORAGES = settings.STORAGES | {"objects": options}
    require_identity()


@pytest.mark.django_db
def test_repositories_that_were_pushed_to_show_which_folder_it_is(repositories: dict[str, Repository]) -> None:
    require_files = site_identity.has_files.answers
    assert require_files() == [None, None]
    Repository.objects.update(pushed_at="2026-11-21T12:00:00Z")
    assert require_files() == [None, False]
    with pytest.raises(HostFault, match="has none of the repositories"):
        require_identity()
    repositories["model"].path.mkdir(parents=True)
    require_identity()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("folder", "database", "problem"),
    [
        ("a" * 32, "b" * 32, f"is the state folder of the site {'a' * 32}, and the database is that of {'b' * 32}"),
        ("a" * 32, "", f"is the state folder of the site {'a' * 32}, and the database is of no site yet"),
        ("", "b" * 32, "is not the state folder of this site: it has no file site-identity"),
    ],
    ids=["both differ", "new database", "new folder"],
)
def test_an_operator_decides_that_they_belong_together(
    tmp_path: Path, folder: str, database: str, problem: str
) -> None:
    if folder:
        (tmp_path / "site-identity").write_text(f"{folder}\n")
    if database:
        SiteIdentity.objects.create(pk=1, value=database, made_at="2026-11-21T12:00:00Z")
    with pytest.raises(HostFault, match=problem):
        require_identity()
    with pytest.raises(CommandError, match=problem):
        call_command("site_identity", "check")
    call_command("site_identity", "adopt", "--reason", "restored")
    require_identity()
    assert (tmp_path / "site-identity").read_text().strip() == SiteIdentity.objects.get().value == (database or folder)
    assert Event.objects.get(verb="adopt_state_folder").reason == "restored"


@pytest.mark.django_db
def test_a_folder_without_the_files_is_not_adopted_by_mistake(
    repositories: dict[str, Repository], tmp_path: Path
) -> None:
    Repository.objects.update(pushed_at="2026-11-21T12:00:00Z")
    SiteIdentity.objects.create(pk=1, value="b" * 32, made_at="2026-11-21T12:00:00Z")
    with pytest.raises(CommandError, match=r"If its files are lost, run: .* adopt --reason WHY --without-files"):
        call_command("site_identity", "adopt", "--reason", "a guess")
    assert not (tmp_path / "site-identity").exists()
    call_command("site_identity", "adopt", "--reason", "the disk broke", "--without-files")
    require_identity()


@pytest.mark.django_db
def test_a_database_without_tables_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SiteIdentity._meta, "db_table", "not_yet")
    monkeypatch.setattr(connection, "close", lambda: None)  # the transaction of this test goes on
    with pytest.raises(ImproperlyConfigured, match=r"run: manage\.py migrate"):
        require_identity_at_start()


@pytest.mark.slow(3)
def test_a_database_of_another_version_stops_the_start(tmp_path: Path, root: Path) -> None:
    """As after an update without `migrate`, or of a host that was not updated: what a worker then plays would fail, and
    count against the item.
    """
    folder = tmp_path / "site"
    folder.mkdir(mode=0o700)
    python_path = os.pathsep.join([str(root / "platform"), str(root), str(root / "evaluation" / "sdk")])
    environment = {
        "PATH": os.environ["PATH"], "GAUNTLET_STATE": str(folder), "GAUNTLET_SANDBOX": "process",
        "PYTHONPATH": python_path, "DJANGO_SETTINGS_MODULE": "config.settings",
    }  # fmt: skip

    def run(program: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program]
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120)

    done = run(STARTS)
    assert done.returncode == 0, done.stderr
    unchanged, replaced, later, fewer = done.stdout.split("---\n")
    assert (unchanged, replaced) == ("", "")
    assert "does not have the migration rounds.0999_of" in later
    assert "run: manage.py migrate" in fewer
    stopped = run("import config.wsgi")
    assert (stopped.returncode, "run: manage.py migrate" in stopped.stderr) == (1, True)


@pytest.mark.django_db
def test_a_folder_that_is_no_longer_mounted_takes_the_host_out_of_service(tmp_path: Path) -> None:
    assert host_health.in_service()
    kept = (tmp_path / "site-identity").read_text()
    (tmp_path / "site-identity").unlink()
    assert not host_health.in_service()
    host = Host.objects.get()
    assert "is not the state folder of this site" in host.problem
    (tmp_path / "site-identity").write_text(kept)
    Host.objects.update(check_due_at=host.out_since)
    assert host_health.in_service()


@pytest.mark.django_db
def test_a_competition_is_not_imported_into_another_folder(tmp_path: Path, root: Path, other: Path) -> None:
    require_identity()
    (tmp_path / "site-identity").unlink()
    with pytest.raises(CommandError, match="is not the state folder of this site"):
        call_command("competition", "import", str(root / "platform/demo/digits.toml"))
