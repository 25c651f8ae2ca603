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
from django.test import Client
from django.urls import reverse

from competitions.models import Competition
from core import clock
from evaluation.cli.main import main as gauntlet
from repositories.models import Repository
from rounds.release.signing_keys import public_key
from tests.platform.faults.results import results
from tests.platform.operations.archives.conftest import OLD

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
        {path: _text(path) for path in pages},
        [_refs(each) for each in Repository.objects.order_by("pk")],
    )


def _file(path: str) -> bytes:
    answer: Any = Client().get(path)
    return b"".join(answer) if answer.status_code == 200 else b""


def _text(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200, path
    text = re.sub(r'<div class="notice"><strong>This competition is archived.*?</div>', "", answer.content.decode())
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    return re.sub(r"\b(submission|match|pair) \d+|#\d+|\s+", " ", text)


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
        assert after.pages[path].split() == text.split(), path
    call_command("leaderboards", "verify", stdout=StringIO())
    bundle = tmp_path / "bundle"
    bundle.write_bytes(after.files["bundle"])
    assert there.origin.signing_keys[-1]["key"] == key != public_key()
    assert gauntlet(["verify", str(bundle), "--key", key]) == 0
