"""What cannot be exported or imported is refused with cause and fix, and the site stays as it was."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as site
from django.core.management import CommandError, call_command
from pytest_django import Settings

from accounts.models import User
from competitions.models import Competition, FreezeWindow, FrozenLeaderboards, SampleSet
from core import clock, event_log, object_store
from core.errors import Refusal
from core.site_identity import require_identity
from formats.query.leaderboards.snapshots_and_freezes import unfreeze_leaderboards
from operations.archives import importing
from operations.archives.archive_reader import ArchiveFile
from operations.archives.exporting import export_archive
from operations.archives.importing import import_archive
from operations.archives.manifest import require_readable
from repositories.models import Repository
from repositories.services import repository_of
from rounds.models import Round
from submissions.models import Submission

Member = tuple[tarfile.TarInfo, bytes]


@pytest.fixture
def small(
    competition: Competition, sample_sets: dict[str, SampleSet], repositories: dict[str, Repository], alice: User
) -> Competition:
    """A competition with images, a team, and a submission whose tag was deleted."""
    require_identity()
    first = repositories["model"]
    repository = repository_of(entry=first.entry, track=first.track)
    git = ["git", "-C", str(repository.path)]
    text = b"commit refs/heads/main\nmark :1\ncommitter A <a@example.org> 1 +0000\ndata 1\n1\n"
    text += b"commit refs/heads/gone\nmark :2\ncommitter A <a@example.org> 2 +0000\ndata 1\n2\n"
    subprocess.run([*git, "fast-import", "--quiet"], input=text, check=True)
    commit = subprocess.run([*git, "rev-parse", "gone"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run([*git, "update-ref", "-d", "refs/heads/gone"], check=True)
    Submission.objects.create(
        repository=repository, commit=commit, tag="submission-1", submitted_by=alice, received_at=clock.now(),
        title="Owl", licence="MIT", state="withdrawn", state_since=clock.now(),
    )  # fmt: skip
    return competition


@pytest.fixture
def archive(small: Competition, tmp_path: Path) -> Path:
    """The archive of the small competition, which is still on the site."""
    export_archive(slug=small.slug, file=tmp_path / "digits.tar")
    return tmp_path / "digits.tar"


def content() -> dict[str, list[Any]]:
    """All rows of the site, but for what every transaction adds, and all its files."""
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.label != "core.TableChange"]
    rows = {model._meta.label: list(model._base_manager.order_by("pk").values()) for model in models}
    folders = (site.REPOSITORIES, site.STATE / "objects")
    return rows | {"files": [sorted(map(str, folder.rglob("*"))) for folder in folders]}


def refused(file: Path, *options: str) -> str:
    """Return why the import is refused; the site is as before."""
    before = content()
    with pytest.raises(CommandError) as caught:
        call_command("import_competition", str(file), *options)
    assert content() == before
    assert "fix: " in str(caught.value)
    return str(caught.value)


def changed(archive: Path, change: Callable[[list[Member]], list[Member]]) -> Path:
    """Write the members of an archive again, after a change."""
    with tarfile.open(archive) as source:
        members = [(each, file.read()) for each in source if (file := source.extractfile(each)) is not None]
    target = archive.with_name("changed.tar")
    with tarfile.open(target, "w") as written:
        for member, data in change(members):
            member.size = len(data) if member.isreg() else 0
            written.addfile(member, io.BytesIO(data))
    return target


def with_manifest(**values: Any) -> Callable[[list[Member]], list[Member]]:
    def change(members: list[Member]) -> list[Member]:
        (member, data), *others = members
        return [(member, json.dumps(json.loads(data) | values).encode()), *others]

    return change


def with_rows(label: str, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[list[Member]], list[Member]]:
    """Change the rows of a table, and what the manifest says of the file."""

    def change(members: list[Member]) -> list[Member]:
        (first, manifest), *others = members
        said = json.loads(manifest)
        for number, (member, data) in enumerate(others):
            if member.name == f"rows/{label}.jsonl":
                data = b"".join(json.dumps(edit(json.loads(line))).encode() + b"\n" for line in data.splitlines())
                others[number] = (member, data)
                listed = next(each for each in said["files"] if each[0] == member.name)
                listed[1:] = [hashlib.sha256(data).hexdigest(), len(data)]
        return [(first, json.dumps(said).encode()), *others]

    return change


def test_an_archive_is_imported_beside_its_competition_under_another_name(archive: Path) -> None:
    done = import_archive(file=archive, slug="digits-again")
    made = done.competition
    assert made.archived_at is not None
    assert sorted(done.renamed) == [
        "the person alice is alice-2 here",
        "the person bob is bob-2 here",
        "the team The Owls (owls) is The Owls (2) (owls-2) here",
    ]
    assert made.origin.slug == "digits"
    ours, theirs = Submission.objects.order_by("pk")
    assert theirs.commit == ours.commit
    assert theirs.submitted_by.is_active is False
    assert theirs.submitted_by.email == ""
    assert not theirs.submitted_by.has_usable_password()
    git = ["git", "-C", str(theirs.repository.path)]
    subprocess.run([*git, "cat-file", "-e", theirs.commit], check=True)
    refs = subprocess.run([*git, "for-each-ref", "--format=%(refname)"], check=True, capture_output=True, text=True)
    assert refs.stdout == "refs/heads/main\n"


def test_it_rejects_a_slug_that_exists(archive: Path) -> None:
    assert "this site has a competition 'digits'" in refused(archive)
    assert "is no short name" in refused(archive, "--as", "No Name")


def test_it_rejects_an_archive_of_a_newer_version(archive: Path) -> None:
    newer = changed(archive, with_manifest(format=2, version="9.0.0"))
    assert "newer version (9.0.0)" in refused(newer, "--as", "other")
    migrations = {"rounds": "0999_something_new"}
    later = changed(archive, with_manifest(version="9.0.0", migrations=migrations))
    assert "lacks the migration rounds.0999_something_new" in refused(later, "--as", "other")


def test_it_reads_an_archive_of_an_earlier_version_if_columns_were_added_since(
    archive: Path, settings: Settings
) -> None:
    settings.MIGRATION_MODULES = {}
    manifest = ArchiveFile(archive).manifest
    require_readable(manifest._replace(migrations={"competitions": "0013_repeated_data_set_uploads"}))
    with pytest.raises(Refusal, match="has changed what its rows mean"):
        require_readable(manifest._replace(migrations={"rounds": "0001_initial"}))


def test_it_rejects_a_truncated_archive(archive: Path) -> None:
    with tarfile.open(archive) as source:
        last = source.getmembers()[-1]
    whole = archive.read_bytes()
    for share in (0.05, 0.5, 0.999):
        archive.write_bytes(whole[: int((last.offset_data + last.size) * share)])
        assert re.search("unexpected end of data|incomplete", refused(archive, "--as", "other")), share


def test_it_rejects_a_changed_byte_in_any_member(archive: Path) -> None:
    with tarfile.open(archive) as source:
        places = [(each.name, each.offset_data) for each in source if each.size and each.name != "manifest.json"]
    whole = archive.read_bytes()
    for name, place in (places[0], places[-1]):
        archive.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert f"{name} in the archive was changed" in refused(archive, "--as", "other")


def test_it_rejects_a_path_that_leaves_the_folder_and_a_link(archive: Path) -> None:
    def outside(members: list[Member]) -> list[Member]:
        members[1][0].name = "../../rows/accounts.User.jsonl"
        return members

    def link(members: list[Member]) -> list[Member]:
        members[1][0].type, members[1][0].linkname = tarfile.SYMTYPE, "/etc/passwd"
        return members

    def one_more(members: list[Member]) -> list[Member]:
        return [*members, (tarfile.TarInfo("evil"), b"!")]

    assert "'../../rows/accounts.User.jsonl'" in refused(changed(archive, outside), "--as", "other")
    assert "a link, a folder or a sparse file" in refused(changed(archive, link), "--as", "other")
    assert "does not list" in refused(changed(archive, one_more), "--as", "other")


def test_it_rejects_a_sparse_file(archive: Path) -> None:
    def sparse(members: list[Member]) -> list[Member]:
        members[1][0].type = tarfile.GNUTYPE_SPARSE
        return members

    assert "sparse file" in refused(changed(archive, sparse), "--as", "other")


def test_it_rejects_a_row_that_names_an_object_of_this_site(archive: Path) -> None:
    """Rows are trusted as little as files: such an object would become public under the name of the import."""
    ours = object_store.put(b"the outcome of a round that is not released")

    def named(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"digest": ours}

    assert "names an object that the archive does not list" in refused(
        changed(archive, with_rows("competitions.SampleSet", named)), "--as", "other"
    )


def test_it_rejects_values_that_pages_could_not_show(archive: Path) -> None:
    def problem_with(label: str, values: dict[str, Any]) -> str:
        return refused(changed(archive, with_rows(label, lambda row: row | values)), "--as", "other")

    assert "Team.slug" in problem_with("accounts.Team", {"slug": "a/b"})
    assert "Submission.state" in problem_with("submissions.Submission", {"state": "won"})
    assert problem_with("competitions.RulesVersion", {"values": {"query_budget": "many"}})
    assert problem_with("competitions.Competition", {"archived_at": 1})


def test_it_rejects_other_files(db: None, tmp_path: Path) -> None:
    require_identity()
    text = tmp_path / "text"
    text.write_text("no archive")
    assert "cannot be read as a tar file" in refused(text)
    assert "cannot be read" in refused(tmp_path / "nowhere")


def test_an_import_that_is_stopped_half_way_leaves_nothing(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: Any, **values: Any) -> None:
        raise KeyboardInterrupt

    before = content()
    monkeypatch.setattr(event_log, "record", stop)  # the last statement
    with pytest.raises(KeyboardInterrupt):
        import_archive(file=archive, slug="other")
    assert content() == before
    monkeypatch.undo()
    assert import_archive(file=archive, slug="other").competition.slug == "other"


def test_a_folder_of_an_import_that_was_killed_becomes_nobodys_repository(
    archive: Path, monkeypatch: pytest.MonkeyPatch, repositories: dict[str, Repository]
) -> None:
    monkeypatch.setattr(shutil, "rmtree", lambda *args, **options: None)  # as nothing is when it is killed
    monkeypatch.setattr(event_log, "record", lambda *args, **values: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        import_archive(file=archive, slug="other")
    monkeypatch.undo()
    left = {path.name for path in site.REPOSITORIES.glob("*.git")}
    left -= {each.path.name for each in Repository.objects.all()}
    assert left
    last = Repository.objects.order_by("-pk")[0]
    Repository.objects.filter(pk=last.pk).delete()
    made = Repository.objects.create(entry=last.entry, track=last.track, created_at=clock.now())
    assert made.path.name not in left


def test_repositories_of_an_import_that_was_killed_are_removed_by_the_next_one(archive: Path) -> None:
    """As one is whose terminal ends: each backup would have them, too."""
    left = site.REPOSITORIES / ".import-killed"
    (left / "0.git").mkdir(parents=True)
    import_archive(file=archive, slug="other")
    assert not left.exists()


def test_a_full_disk_is_named_and_the_import_can_be_repeated(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(importing, "read_bundle", full)
    assert "No space left on device" in refused(archive, "--as", "other")


def test_a_full_disk_leaves_no_part_of_an_archive(
    small: Competition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **values: Any) -> Iterator[Any]:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = tmp_path / "out"
    folder.mkdir()
    monkeypatch.setattr(tarfile.TarFile, "addfile", full)
    with pytest.raises(Refusal, match="No space left on device"):
        export_archive(slug=small.slug, file=folder / "digits.tar")
    assert not list(folder.iterdir())


def test_an_export_names_what_is_open(small: Competition, sample_sets: dict[str, SampleSet], tmp_path: Path) -> None:
    window = FreezeWindow.objects.create(
        competition=small, starts_at=clock.now(), ends_at=small.ends_at, reason="round"
    )
    Round.objects.create(
        competition=small, number=1, title="Final", kind="final", schedule="ladder", window=window, state="playing",
        sample_set=sample_sets["validation"], state_since=clock.now(), planned_at=clock.now(),
    )  # fmt: skip
    Submission.objects.update(state="building")
    with pytest.raises(Refusal, match="1 rounds under way, 1 submissions that are built or checked"):
        export_archive(slug=small.slug, file=tmp_path / "digits.tar")


def test_an_export_waits_until_the_leaderboards_are_live(small: Competition, tmp_path: Path) -> None:
    """Nobody could unfreeze them on the other site."""
    FrozenLeaderboards.objects.create(competition=small, since=clock.now())
    with pytest.raises(Refusal, match="1 freeze of its leaderboards"):
        export_archive(slug=small.slug, file=tmp_path / "digits.tar")
    unfreeze_leaderboards(competition=small, by=User.objects.create_superuser("root"), reason="it is over")
    assert export_archive(slug=small.slug, file=tmp_path / "digits.tar").rows


def test_an_export_names_what_is_missing(small: Competition, tmp_path: Path) -> None:
    digest = SampleSet.objects.order_by("pk")[0].digest
    object_store.remove(digest)
    file = tmp_path / "digits.tar"
    with pytest.raises(Refusal, match=f"has lost files of digits: object {digest}"):
        export_archive(slug=small.slug, file=file)
    assert not file.exists()
    assert export_archive(slug=small.slug, file=file, allow_missing=True).missing == [f"object {digest}"]
    # the planning of rounds reads the images of all sets, those of other competitions, too
    assert f"lacks the images of a sample set: object {digest}" in refused(file, "--as", "other")


def test_an_export_rejects_a_damaged_object(small: Competition, tmp_path: Path) -> None:
    digest = SampleSet.objects.order_by("pk")[0].digest
    path = site.STATE / "objects" / digest[:2] / digest[2:]
    path.write_bytes(b"!" * path.stat().st_size)
    with pytest.raises(Refusal, match=f"object {digest} is damaged"):
        export_archive(slug=small.slug, file=tmp_path / "digits.tar")


def test_an_export_rejects_unknown_competitions_and_files_that_exist(small: Competition, archive: Path) -> None:
    with pytest.raises(CommandError, match="choose from: digits"):
        call_command("export_competition", "nothing", "nowhere.tar")
    with pytest.raises(CommandError, match="exists"):
        call_command("export_competition", small.slug, str(archive))
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export_competition", small.slug, str(archive / "below"))


def test_names_that_look_the_same_are_taken(archive: Path) -> None:
    User.objects.create_user("A1ice-2")
    assert "the person alice is alice-3 here" in import_archive(file=archive, slug="second").renamed
    third = import_archive(file=archive, slug="third").renamed
    assert "the team The Owls (owls) is The Owls (3) (owls-3) here" in third
    assert "the person alice is alice-4 here" in third


def test_memory_does_not_grow_with_the_objects(small: Competition, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(os.urandom(1 << 20) * 48)
    Competition.objects.update(smoke_opponent_digest=object_store.put_file(large))
    tracemalloc.start()
    try:
        export_archive(slug=small.slug, file=tmp_path / "digits.tar")
        shutil.rmtree(site.STATE / "objects")
        (site.STATE / "objects").mkdir()
        import_archive(file=tmp_path / "digits.tar", slug="other")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < large.stat().st_size / 2
