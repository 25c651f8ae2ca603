"""Every bundled submission is a complete repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.numpy import load_file

from evaluation.baselines.catalogue import Baseline, baselines
from evaluation.builder.manifest import read_manifest
from evaluation.builder.requirements import read_requirements
from evaluation.domain.players import Track

LARGEST_FILE = 2 * 1024 * 1024

every_baseline = pytest.mark.parametrize("baseline", baselines(), ids=lambda baseline: baseline.name)


def test_it_works() -> None:
    tracks = [baseline.track for baseline in baselines()]
    assert [tracks.count(track) for track in Track] == [4, 5, 4]
    assert len({baseline.name for baseline in baselines()}) == 13


@every_baseline
def test_the_manifest_is_accepted(baseline: Baseline) -> None:
    manifest = read_manifest(baseline.path)
    assert manifest.track is baseline.track
    assert manifest.run == ("python", "main.py")
    assert manifest.licence == "Apache-2.0"


@every_baseline
def test_nothing_is_missing(baseline: Baseline) -> None:
    names = {file.name for file in baseline.path.iterdir()}
    assert names >= {"submission.toml", "README.md", "LICENSE", "requirements.txt", "main.py"}
    assert baseline.name in (baseline.path / "README.md").read_text()
    assert "Apache License" in (baseline.path / "LICENSE").read_text()
    lines = read_requirements(baseline.path / "requirements.txt", name="requirements.txt")
    assert lines
    assert all(line.requirement is not None for line in lines)


@every_baseline
def test_files_are_small(baseline: Baseline) -> None:
    files = [file for file in baseline.path.rglob("*") if file.is_file()]
    assert all(file.stat().st_size < LARGEST_FILE for file in files)


def test_copies_of_the_network_are_exact(root: Path) -> None:
    source = (root / "evaluation" / "training" / "small_resnet.py").read_bytes()
    copies = list((root / "evaluation" / "baselines").glob("*/network.py"))
    assert len(copies) == 6
    assert all(copy.read_bytes() == source for copy in copies)


@pytest.mark.parametrize(
    ("kind", "model", "count"), [("robust", "adversarial-logit-pairing", 3), ("plain", "plain-resnet", 2)]
)
def test_surrogates_are_the_bundled_networks(root: Path, kind: str, model: str, count: int) -> None:
    folder = root / "evaluation" / "baselines"
    source = (folder / model / "weights.safetensors").read_bytes()
    copies = list(folder.glob(f"*/surrogate-{kind}.safetensors"))
    assert len(copies) == count
    assert all(copy.read_bytes() == source for copy in copies)


def test_weights_are_float32(root: Path) -> None:
    for file in (root / "evaluation" / "baselines").glob("*/*.safetensors"):
        assert {str(array.dtype) for array in load_file(file).values()} == {"float32"}
