"""The registry of the engine's formats: what every format has, and which one is meant."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest

from evaluation.cli.format_commands import commands_of
from evaluation.cli.main import main
from evaluation.domain.errors import ManifestRefusal, Refusal
from evaluation.formats.base import EngineFormat
from evaluation.formats.registry import (
    all_bundled,
    find_bundled,
    format_called,
    format_of_bundle,
    format_of_repository,
    formats,
    require_format,
)


@pytest.fixture(params=formats, ids=lambda each: each.name)
def each(request: pytest.FixtureRequest) -> EngineFormat:
    """Each format."""
    found: EngineFormat = request.param
    return found


def test_a_format_has_commands_and_bundled_submissions_of_its_own(each: EngineFormat) -> None:
    assert format_called(each.name) is each
    assert commands_of(each.name).help
    assert {bundled.format for bundled in each.bundled()} == {each.name}
    assert {bundled.manifest for bundled in each.bundled()} <= set(each.manifests)


def test_a_format_proposes_a_bundled_submission_for_each_of_its_tracks(each: EngineFormat) -> None:
    assert set(each.first_submissions) == {bundled.track for bundled in each.bundled()}
    for track, first in each.first_submissions.items():
        assert find_bundled(first.copied).track == track


def test_no_two_formats_share_a_track_a_manifest_or_a_name_of_a_bundled_submission() -> None:
    for names in (
        [bundled.name for bundled in all_bundled()],
        [name for each in formats for name in each.manifests],
        [track for each in formats for track in each.first_submissions],
    ):
        assert len(set(names)) == len(names)
    with pytest.raises(Refusal, match="no bundled submission is called 'nobody'"):
        find_bundled("nobody")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b'{"format":"transfer","kind":"head"}\n{}', "transfer"),
        (b'{"format":3,"kind":"head"}\n{}', "query"),
        (b'{"format":["transfer"]}', "query"),
        (b'{"kind":"signature"}\n{"kind":"parts"}\n{"format":"transfer","kind":"head"}\n', "transfer"),
        (b'{"form":3,"kind":"parts"}\n{"format":4,"kind":"head"}\n', "query"),
        (b'{"form":3,"kind":"parts"}\n' * 3, "query"),
        (b"[1]", "query"),
        (b"", "query"),
        (b"\xff", "query"),
        (b"[" * 100_000, "query"),
    ],
)
def test_the_head_of_a_bundle_names_its_format(content: bytes, name: str) -> None:
    file = BytesIO(content)
    assert format_of_bundle(file) == name
    assert file.read() == content


@pytest.mark.parametrize("name", ["chess", "", "query\x1b[2J", "n" * 1000])
def test_a_bundle_of_an_unknown_format_is_refused_with_the_known_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    bundle = tmp_path / "bundle.jsonl"
    bundle.write_text(json.dumps({"format": name, "kind": "head"}) + "\n")
    assert main(["verify", str(bundle)]) == 2
    error = capsys.readouterr().err
    assert (
        f"the bundle is of the format {name[:40]!r}, and this version of gauntlet knows: query, transfer, curves"
        in error
    )
    assert "fix: verify it with the version" in error


@pytest.mark.parametrize(
    ("files", "name", "refused_by"),
    [
        (["submission.toml"], "query", {"transfer"}),
        (["crowdai.json"], "query", {"transfer"}),
        (["metadata.json"], "transfer", {"query"}),
        (["metadata.json", "submission.toml"], "query", set()),
        ([], "query", set()),
    ],
)
def test_the_manifest_of_a_repository_names_its_format(
    tmp_path: Path, files: list[str], name: str, refused_by: set[str]
) -> None:
    for file in files:
        (tmp_path / file).touch()
    assert format_of_repository(tmp_path).name == name
    for each in formats:
        if each.name in refused_by:
            with pytest.raises(ManifestRefusal, match=f"{name} format: it has a {files[0]}") as refusal:
                require_format([tmp_path], each.name)
            assert refusal.value.fix == f"play it with --format {name}"
        else:
            require_format([tmp_path], each.name)
