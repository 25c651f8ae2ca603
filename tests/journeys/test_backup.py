"""A site is backed up while it runs, and restored to an empty place."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
from psycopg2 import sql
from pytest_django import Settings

from core.errors import Fault
from operations.backups import restic
from tests.journeys.sites import MakeSite, PlayedSeason, Site

pytestmark = [pytest.mark.slow(40), pytest.mark.timeout(2400)]

ELSEWHERE = frozenset({"core_event", "core_tablechange", "workers_worker", "workers_host", "django_session"})
"""Tables that change while a site is backed up."""


class Backups:
    """A backup repository, and the commands that use it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self.variables = {"RESTIC_REPOSITORY": str(folder / "backups"), "RESTIC_PASSWORD": "a password"}
        self.variables["GAUNTLET_LOGO"] = str(folder / "no-logo.svg")  # a wrong setting of pages stops no backup

    def begin(self) -> None:
        subprocess.run(["restic", "init", "--quiet"], env=os.environ | self.variables, check=True)

    def manage(self, site: Site, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=self._root, env=site.environment | self.variables, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def printed(self, site: Site, *arguments: str) -> str:
        done = self.manage(site, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def backups(root: Path, tmp_path: Path) -> Backups:
    return Backups(root, tmp_path)


def digests_of_files(site: Site) -> dict[str, str]:
    """The digests of all files that are not transient, but those of git, whose refs may be in other files."""
    return {
        str(path.relative_to(site.state)): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in ("objects", "site-identity", "secret-key", "signing-key")
        for path in ([site.state / name] if (site.state / name).is_file() else sorted((site.state / name).rglob("*")))
        if path.is_file()
    }


def refs_of(site: Site) -> dict[str, str]:
    return {
        path.name: subprocess.run(["git", "for-each-ref"], cwd=path, capture_output=True, text=True, check=True).stdout
        for path in sorted((site.state / "repositories").glob("*.git"))
    }


def digests_of_tables(site: Site) -> dict[str, str]:
    with closing(psycopg2.connect(site.environment["DATABASE_URL"])) as connection, connection.cursor() as cursor:
        cursor.execute("select tablename from pg_tables where schemaname = 'public' order by tablename")
        names = [name for (name,) in cursor.fetchall() if name not in ELSEWHERE]
        digests = {}
        for name in names:
            rows = sql.SQL("select md5(string_agg(t::text, '|' order by t::text)) from {} t").format(
                sql.Identifier(name)
            )
            cursor.execute(rows)
            (digests[name],) = cursor.fetchone()
    return digests


def bytes_of(number: str, unit: str) -> float:
    return float(number) * {"bytes": 1, "KB": 1 << 10, "MB": 1 << 20}[unit]


def test_a_restored_site_is_the_one_that_was_backed_up(
    make_site: MakeSite, season: PlayedSeason, backups: Backups
) -> None:
    site = make_site(like=season.site)
    refused = backups.manage(site, "backup")
    assert refused.returncode == 1
    assert "restic init" in refused.stderr
    backups.begin()
    first, second = backups.printed(site, "backup"), backups.printed(site, "backup")
    pattern = r"snapshot [0-9a-f]{8}: [\d,]+ files, (\S+)\s(\S+), of which (\S+)\s(\S+) are new"
    found = [re.fullmatch(pattern, output.strip()) for output in (first, second)]
    (all_, new), (all_again, new_again) = [
        (bytes_of(*match.group(1, 2)), bytes_of(*match.group(3, 4))) for match in found if match
    ]
    assert new > all_ / 4, "restic compresses"
    assert new_again < new / 2
    assert all_again >= all_

    restored = make_site()
    output = backups.printed(restored, "restore")
    assert re.search(r"[1-9]\d* scores and [1-9]\d* standings verified", output)
    assert digests_of_files(restored) == digests_of_files(site)
    assert refs_of(restored) == refs_of(site)
    assert digests_of_tables(restored) == digests_of_tables(site)
    again = backups.manage(restored, "restore")
    assert again.returncode == 1
    assert "is not empty" in again.stderr


def test_a_snapshot_that_lacks_a_file_is_not_restored_as_the_newest(
    backups: Backups, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where a disk has a damaged block, an earlier snapshot has the whole file."""
    settings.STATE = tmp_path
    for name, value in backups.variables.items():
        monkeypatch.setenv(name, value)
    backups.begin()
    (tmp_path / "whole").write_text("read")
    restic.back_up(tmp_path, ["whole"])
    with pytest.raises(Fault, match="mem cannot be read"):
        restic.back_up(Path("/proc") / str(os.getpid()), ["comm", "mem"])  # the first page of its memory is no one's
    restic.restore("latest", tmp_path / "restored")
    assert [each.name for each in (tmp_path / "restored").iterdir()] == ["whole"]
