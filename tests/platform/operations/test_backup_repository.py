"""The backup repository is no part of what is backed up."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from core.errors import Refusal
from core.site_identity import require_identity
from operations.backups import restic
from operations.backups.snapshots import STAGING


@pytest.fixture(autouse=True)
def _opens(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restic would open any repository."""
    settings.STATE = tmp_path / "site"
    settings.STATE.mkdir()
    (tmp_path / "link").symlink_to(settings.STATE)
    monkeypatch.setenv("RESTIC_PASSWORD", "a password")
    monkeypatch.setattr(restic, "_run", lambda *arguments: "")


@pytest.mark.parametrize("named", ["{site}/backups", "local:{site}/backups", "backups", "{site}", "{site}/../link/x"])
@pytest.mark.parametrize("in_file", [False, True])
def test_one_in_the_state_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, in_file: bool
) -> None:
    """Each backup would store all earlier ones again: every hour, as much as the whole site."""
    address = named.format(site=tmp_path / "site")
    if in_file:
        (tmp_path / "address").write_text(f"{address}\n")
        monkeypatch.setenv("RESTIC_REPOSITORY_FILE", str(tmp_path / "address"))
    else:
        monkeypatch.setenv("RESTIC_REPOSITORY", address)
    with pytest.raises(Refusal, match="is in the state folder"):
        restic.require_repository()


@pytest.mark.parametrize("named", ["{site}-backups", "sftp:backup@vault:/gauntlet", "s3:https://host/bucket", "../b"])
def test_any_other_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("RESTIC_REPOSITORY", named.format(site=tmp_path / "site"))
    restic.require_repository()


def test_restic_says_what_is_wrong_with_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTIC_REPOSITORY_FILE", str(tmp_path / "missing"))
    restic.require_repository()


def test_a_backup_says_where_it_cannot_write(
    db: None, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESTIC_REPOSITORY", str(tmp_path / "backups"))
    require_identity()
    (settings.STATE / STAGING).write_text("a file in place of the folder")
    with pytest.raises(CommandError, match=r"(?s)cannot be prepared in .*/site: .*File exists.*fix: free disk space"):
        call_command("backup")
