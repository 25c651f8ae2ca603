"""A competition of each format moves to another site: what is read and computed there is what was here."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.management import call_command
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.clone_page import copy_of
from competitions.delete_or_archive import unarchive
from competitions.models import Competition, CompetitionOrigin, Entry
from competitions.permissions import require
from core import clock
from core.errors import Refusal
from core.models import Event
from core.roles import Right
from evaluation.cli.main import main as gauntlet
from formats.query.matches.models import Match
from operations.archives.archive_reader import ArchiveFile
from operations.archives.archive_tables import Tables
from repositories.models import Repository
from rounds.release.signing_keys import public_key
from tests.platform.faults.results import results
from tests.platform.operations.archives.conftest import OLD, others_come_first
from workers.work_kind_interface import kinds

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(20)]

FORMATS = pytest.mark.parametrize("name", ["query", "transfer", "curves"])

LEFT_OUT = {"HostComparison", "WorkerTime"}


class Shown(NamedTuple):
    """What a site shows of a competition, without its keys."""

    rows: dict[str, Counter[str]]
    files: dict[str, bytes]
    pages: dict[str, str]
    refs: list[str]


def shown(competition: Competition) -> Shown:
    rows = {table: found for table, found in results().items() if table not in LEFT_OUT}
    root = f"/competitions/{competition.slug}"
    pages = [root, f"{root}/rules", f"{root}/rounds/1", f"{root}/data", f"{root}/news"]
    pages += [f"{root}/leaderboards/{track.name}" for track in competition.tracks.all()]
    pages += [reverse("pages:team", args=[entry.team.slug]) for entry in competition.entries.order_by("pk")]
    files = {part: _file(f"{root}/rounds/1/files/{part}") for part in ("bundle", "images", "perturbed")}
    return Shown(
        rows,
        {name: content for name, content in files.items() if content},
        {path: _text(path) for path in pages} | _matches(),
        [_refs(each) for each in Repository.objects.order_by("pk")],
    )


def _matches() -> dict[str, str]:
    """Return the pages of the matches of the round, by their places."""
    played = Match.objects.filter(round_match__isnull=False).order_by("pk")
    paths = [reverse("pages:match", args=[match.pk]) for match in played]
    assert bool(paths) == (Competition.objects.get().format == "query")
    return {f"match {place}": _text(path) for place, path in enumerate(paths)}


def _file(path: str) -> bytes:
    answer: Any = Client().get(path)
    return b"".join(answer) if answer.status_code == 200 else b""


def _text(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200, path
    notice = r'<div class="notice"><strong>This competition is archived.*?</div>'
    text = re.sub(notice, "", answer.content.decode(), flags=re.DOTALL)
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(
        r"(The public keys of this site are also|The bundle is signed with the key of the site) .*? Add", "", text
    )
    return re.sub(r"(?<![\d.,])\d+(?![\d%]|[.,]\d)", "N", text)  # numbers of rows are others


def _refs(repository: Repository) -> str:
    command = ["git", "-C", str(repository.path), "for-each-ref", "--format=%(objectname) %(refname)"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(slug: str, file: Path, *options: str) -> str:
    out = StringIO()
    call_command("export_competition", slug, str(file), *options, stdout=out)
    return out.getvalue()


def imported(file: Path, *options: str) -> str:
    out = StringIO()
    call_command("import_competition", str(file), *options, stdout=out)
    return out.getvalue()


@FORMATS
def test_a_season_is_the_same_on_another_site(
    played: Competition, other_site: Callable[[], None], tmp_path: Path, name: str
) -> None:
    Competition.objects.update(archived_at=clock.now())
    played.refresh_from_db()
    before, key = shown(played), public_key()
    exported(name, tmp_path / "season.tar")
    other_site()
    printed = imported(tmp_path / "season.tar")
    there = Competition.objects.get()
    after = shown(there)
    assert f"played on {OLD}" in printed
    assert after.rows == before.rows
    assert after.refs == before.refs
    assert {name: after.files[name] for name in after.files if name != "perturbed"} == {
        name: before.files[name] for name in before.files if name != "perturbed"
    }
    for path, text in before.pages.items():
        assert after.pages[path].split(" ") == text.split(" "), path
    call_command("leaderboards", "verify", stdout=StringIO())
    bundle = tmp_path / "bundle"
    bundle.write_bytes(after.files["bundle"])
    assert there.origin.signing_keys[-1]["key"] == key != public_key()
    assert gauntlet(["verify", str(bundle), "--key", key]) == 0
    _nothing_goes_on(there)

    exported(name, tmp_path / "again.tar")
    first, again = archived(tmp_path / "season.tar"), archived(tmp_path / "again.tar")
    for table, rows in first.items():
        assert again[table] == rows, table
    other_site()
    others_come_first()
    printed = imported(tmp_path / "again.tar", "--as", "moved")
    _it_moved_to_a_site_with_the_same_names(printed, before, name)


def _nothing_goes_on(there: Competition) -> None:
    """It can be read, and cloned; nobody logs in, and nothing is taken back, judged or queued."""
    root = User.objects.create_superuser("root", "root@example.org")
    with pytest.raises(Refusal, match="can only be read"):
        unarchive(competition=there, by=root, reason="we want it back")
    with pytest.raises(Refusal, match="can only be read"):
        require(root, there, Right.JUDGE)
    assert not User.objects.exclude(pk=root.pk).filter(is_active=True).exists()
    assert copy_of(there, slug="copy", title="Copy", starts_at=clock.now())
    assert not any(kind.waits() or kind.held() for kind in kinds)
    assert Event.objects.filter(verb="import_archive").count() == 1
    root.delete()


def _it_moved_to_a_site_with_the_same_names(printed: str, before: Shown, name: str) -> None:
    assert "the person olga is olga-2 here" in printed
    assert "the team Owls (owls) is Owls (2) (owls-2) here" in printed
    moved = Competition.objects.get(slug="moved")
    assert (moved.origin.address, moved.origin.slug) == (OLD, name)
    assert Entry.objects.get(slug_of_origin="owls").team.slug == "owls-2"
    call_command("leaderboards", "verify", stdout=StringIO())  # what was signed names the owls
    assert _file("/competitions/moved/rounds/1/files/bundle") == before.files["bundle"]
    page = Client().get("/competitions/moved").content.decode()
    assert f"It was played on {OLD} as <code>{name}</code>" in page
    assert moved.origin.signing_keys[-1]["key"] in page
    answer = Client().get("/api/v1/competitions/moved").json()
    assert answer["origin"]["address"] == OLD
    assert answer["origin"]["signing_keys"] == [each["key"] for each in moved.origin.signing_keys]
    table = _file("/competitions/moved/rounds/1/files/perturbed").decode().splitlines()[1:]
    for line in table:
        assert _file(f"/competitions/moved/rounds/1/files/perturbed-{line.split(',')[0]}")
    assert bool(table) == (name != "curves")


class _Places:
    """Names rows by their places in their tables, and teams as before."""

    def __init__(self, archive: ArchiveFile, tables: Tables) -> None:
        self._of = {
            table.model: {row["pk"]: place for place, row in enumerate(archive.rows(table.label))}
            for table in tables.ordered
        }

    def key(self, model: type[Model], old: int) -> int:
        return self._of[model][old]

    def team(self, slug: str) -> tuple[str, str]:
        return slug, ""


def archived(file: Path) -> dict[str, list[Any]]:
    """Return the rows of an archive, with places in place of keys; without what an import makes."""
    archive, tables = ArchiveFile(file), Tables()
    places = _Places(archive, tables)
    content: dict[str, list[Any]] = {}
    for table in tables.ordered:
        if table.model in (CompetitionOrigin, Event):
            continue
        references = {
            column.name: column.remote_field.model for column in tables.columns(table.model) if column.remote_field
        }
        content[table.label] = []
        for row in archive.rows(table.label):
            del row["pk"]
            for name, model in references.items():
                row[name] = None if row[name] is None else places.key(model, row[name])
            for name, renaming in tables.keys_in(table.model).items():
                for each in renaming:
                    row[name] = each.renamed(row[name], places)
            if row.get("part") == "perturbed":
                row["content"] = ""
            content[table.label].append(row)
    content["events"] = [[row["at"], row["verb"], row["reason"]] for row in archive.rows("core.Event")]
    return content
