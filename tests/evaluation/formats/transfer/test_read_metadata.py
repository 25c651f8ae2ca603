"""Reading `metadata.json`, the manifest of 2017."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.domain.errors import ManifestRefusal
from evaluation.formats.transfer.metadata import Metadata, read_metadata
from evaluation.formats.transfer.rules import TransferTrack

GOOD = {"type": "defense", "container": "some/image:1", "container_gpu": "some/image:gpu", "entry_point": "run.sh"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A repository with a good entry point."""
    (tmp_path / "run.sh").write_bytes(b"#!/bin/bash\necho\r\n")
    (tmp_path / "run.sh").chmod(0o755)
    return tmp_path


def write(source: Path, **changes: object) -> None:
    (source / "metadata.json").write_text(json.dumps({**GOOD, **changes}))


def test_the_fields_are_read_and_others_are_ignored(source: Path) -> None:
    write(source, note="of a team")
    assert read_metadata(source) == Metadata(TransferTrack.DEFENCE, "run.sh", "some/image:1", gpu=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "defence"}, "unknown type 'defence'"),
        ({"type": None}, "type is not a text"),
        ({"container": ""}, "container is not a text"),
        ({"entry_point": "../run.sh"}, "outside of the repository"),
        ({"entry_point": "/bin/sh"}, "outside of the repository"),
        ({"entry_point": "other.sh"}, "not in the repository"),
        ({"entry_point": "a" * 300}, "not in the repository"),
        ({"entry_point": "run.sh\nrm"}, "not a text of one line"),
    ],
)
def test_it_rejects_a_wrong_value(changes: dict[str, object], message: str, source: Path) -> None:
    write(source, **changes)
    with pytest.raises(ManifestRefusal, match=message):
        read_metadata(source)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"type": "attack"', b"[" * 50_000, b"1" * 70_000])
def test_it_rejects_a_file_that_is_no_manifest(content: bytes, source: Path) -> None:
    (source / "metadata.json").write_bytes(content)
    with pytest.raises(ManifestRefusal, match=r"metadata\.json"):
        read_metadata(source)


def test_it_rejects_a_missing_key(source: Path) -> None:
    (source / "metadata.json").write_text('{"type": "attack", "container": "any"}')
    with pytest.raises(ManifestRefusal, match="entry_point is missing"):
        read_metadata(source)


@pytest.mark.parametrize(
    ("entry_point", "fix"),
    [
        ("run_attack.sh", '{"type": "attack", "container": "gauntlet-base", "entry_point": "run_attack.sh"}'),
        ("run_defense.sh", '{"type": "defense", "container": "gauntlet-base", "entry_point": "run_defense.sh"}'),
        ("run.sh", "A submission of 2019"),
    ],
)
def test_what_to_add_follows_from_the_entry_point(entry_point: str, fix: str, tmp_path: Path) -> None:
    (tmp_path / entry_point).touch()
    with pytest.raises(ManifestRefusal, match="is missing in") as refusal:
        read_metadata(tmp_path)
    assert fix in refusal.value.fix
    with pytest.raises(ManifestRefusal, match="is missing in"):
        read_metadata(tmp_path / "no-such-folder")


def test_it_rejects_a_missing_file_and_a_link(source: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(ManifestRefusal, match="is missing"):
        read_metadata(source)
    (source / "metadata.json").symlink_to(tmp_path_factory.mktemp("other") / "metadata.json")
    with pytest.raises(ManifestRefusal, match="plain file"):
        read_metadata(source)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"#!/bin/bash\r\necho\r\n", "Windows line ends"), (b"echo\n", "which interpreter")],
)
def test_it_rejects_an_entry_point_that_cannot_start(content: bytes, message: str, source: Path) -> None:
    write(source)
    (source / "run.sh").write_bytes(content)
    with pytest.raises(ManifestRefusal, match=message):
        read_metadata(source)


def test_it_rejects_an_entry_point_that_is_a_link_out_of_the_repository(source: Path) -> None:
    write(source, entry_point="link.sh")
    (source / "link.sh").symlink_to("/bin/sh")
    with pytest.raises(ManifestRefusal, match="leads outside"):
        read_metadata(source)
