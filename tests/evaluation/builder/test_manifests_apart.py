"""Strangers' manifests are parsed in a process with limits unless they are short and plain."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from evaluation.builder import manifest
from evaluation.domain.errors import ManifestRefusal
from evaluation.domain.players import TrackName
from evaluation.formats.query.submissions_2018 import manifest_2018
from evaluation.formats.transfer import metadata
from evaluation.formats.transfer.rules import TransferTrack

TOML = b"""[submission]
track = "untargeted"
run = "python main.py"
title = "Boundary"
licence = "mit"
gpu = true
"""
JSON_2017 = (
    b'{"type": "defense", "container": "some/image:1", "entry_point": "run.sh", "container_gpu": "x"}' + b" " * 4096
)
JSON_2018 = '{"challenge_id": "nips-2018-avc-robust-model-track", "description": "A model"}'


@pytest.fixture
def _not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parsers fail in this process; a process that it starts has its own."""

    def fail(*_: object) -> NoReturn:
        raise AssertionError("parsed in the process that asks")

    monkeypatch.setattr(manifest, "parse_manifest", fail)
    monkeypatch.setattr(metadata, "parse_metadata", fail)
    monkeypatch.setattr(manifest_2018, "read_request", fail)
    manifest.parse_within_limits.cache_clear()
    metadata.parse_within_limits.cache_clear()


@pytest.mark.usefixtures("_not_here")
def test_a_manifest_is_parsed_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "submission.toml").write_bytes(TOML)
    expected = manifest.Manifest(TrackName.UNTARGETED, ("python", "main.py"), "Boundary", "MIT", gpu=True)
    assert manifest.parse_within_limits(TOML) == manifest.read_manifest(tmp_path) == expected


@pytest.mark.usefixtures("_not_here")
def test_a_manifest_of_2017_is_parsed_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_bytes(JSON_2017)
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    expected = metadata.Metadata(TransferTrack.DEFENCE, "run.sh", "some/image:1", gpu=True)
    assert metadata.parse_within_limits(JSON_2017) == metadata.read_metadata(tmp_path) == expected


@pytest.mark.usefixtures("_not_here")
def test_a_manifest_of_2018_is_parsed_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "crowdai.json").write_text(JSON_2018)
    assert manifest_2018.read_submission(tmp_path) == manifest_2018.Submission2018(
        TrackName.MODEL, "A model", "unknown"
    )


@pytest.mark.parametrize(
    ("parse", "content"), [(manifest.parse_within_limits, TOML), (metadata.parse_within_limits, JSON_2017)]
)
def test_the_process_is_started_once_for_a_manifest(
    parse: Callable[[bytes], object], content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every start of a player reads its manifest."""
    first = parse(content)
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    assert parse(content) is first


@pytest.mark.parametrize("parse", [manifest.parse_within_limits, metadata.parse_within_limits])
def test_the_refusal_keeps_its_kind_and_place(parse: Callable[[bytes], object]) -> None:
    with pytest.raises(ManifestRefusal, match=r"submission\.toml, line 1|metadata\.json is not valid JSON"):
        parse(b"[[[" + b" " * 4096)
