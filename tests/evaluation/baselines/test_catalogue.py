"""Every bundled submission is a complete repository, assembled from files that exist once."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from evaluation.baselines.catalogue import FOLDER, LICENCE, SHARED_PARTS, Baseline, baselines, find_baseline
from evaluation.builder.manifest import read_manifest
from evaluation.builder.requirements import read_requirements
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import Refusal
from evaluation.domain.players import Track

LARGEST_FILE = 2 * 1024 * 1024

DIGESTS = {
    "adversarial-logit-pairing": "sha256:05778b2f43e8dcb8ff17ae66f4c0e7092e268b732e832b97b6814ece070d1d8b",
    "frozen-noise": "sha256:8e906e44bdda174dc670911f55f921c870596d1068384567c3463b46ba5f8d8e",
    "numpy-classifier": "sha256:81bb355cb7161881d7f3d1c5d1c68e4886e943d6becf2b8e78037e5ed31909a5",
    "plain-resnet": "sha256:e278c598a4e437c5ebbdf757568d4b4bb356fc5019b41f4f4f4a2040d60189af",
    "boundary": "sha256:150f1ca27fda91a0e8f833da154c0871913fc564edfe575409a46b2304c1c9fa",
    "gaussian-noise": "sha256:780b9ca2f97ccea753e357dd6055e748f6964c1225e5063617e8ef1db1efcb5f",
    "iterative-transfer": "sha256:9acc6c0a04e938aa668f2a815b518f64d65aebe35cfd6f435629e76b042dc691",
    "salt-and-pepper": "sha256:d6bb93b8157a4a955da23bce30a3a05d33ba6f304da63a88d986a3e091b09131",
    "single-step-transfer": "sha256:8e7c4c99fc7392f4d604aabd6ae444c6ba951e1fdc4fe18e87ba52cd22aef4f4",
    "targeted-boundary": "sha256:c88ef3307694beb9a63f923bb84fa731d59fafc598f93b023a1d3413e7efc083",
    "targeted-interpolation": "sha256:88fec841498c29dc3a4a8f0b3b0c32b91fc07be98e4d099771789ab34aedfccb",
    "targeted-iterative-transfer": "sha256:a013e72c491aeb1be46c98e4ded5216d8980b94773b15a7b4c3b42f45185b6f7",
    "targeted-pointwise": "sha256:d3135cadefa0c185d170d73ddde7899f0e36f26886d763baebe7e4cff7925404",
}
"""A changed digest is another player: sites that have built the old one play both."""

every_baseline = pytest.mark.parametrize("baseline", baselines(), ids=lambda baseline: baseline.name)


def test_it_works() -> None:
    tracks = [baseline.track for baseline in baselines()]
    assert [tracks.count(track) for track in Track] == [4, 5, 4]
    assert len({baseline.name for baseline in baselines()}) == 13


@every_baseline
def test_the_manifest_is_accepted(baseline: Baseline) -> None:
    manifest = read_manifest(baseline.repository())
    assert manifest.track is baseline.track
    assert manifest.run == ("python", "main.py")
    assert manifest.licence == "Apache-2.0"


@every_baseline
def test_nothing_is_missing(baseline: Baseline) -> None:
    repository = baseline.repository()
    assert {file.name for file in repository.iterdir()} >= {"submission.toml", "README.md", "LICENSE", "main.py"}
    assert baseline.name in (repository / "README.md").read_text()
    assert "Apache License" in (repository / "LICENSE").read_text()
    lines = read_requirements(repository / "requirements.txt", name="requirements.txt")
    assert lines
    assert all(line.requirement is not None for line in lines)


@every_baseline
def test_files_are_small(baseline: Baseline) -> None:
    files = [file for file in baseline.repository().rglob("*") if file.is_file()]
    assert all(file.stat().st_size < LARGEST_FILE for file in files)


@every_baseline
def test_its_digest_is_that_of_the_assembled_tree(baseline: Baseline, tmp_path: Path) -> None:
    baseline.assemble(tmp_path)
    assert tree_digest(tmp_path) == baseline.digest == tree_digest(baseline.repository()) == DIGESTS[baseline.name]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(Refusal, match="no bundled submission is called 'resnet'\n  fix: run `gauntlet baselines`"):
        find_baseline("resnet")


def test_no_large_file_exists_twice() -> None:
    files = defaultdict(list)
    for file in FOLDER.rglob("*"):
        if file.is_file() and file.stat().st_size > 1024 and "__pycache__" not in file.parts:
            files[file.read_bytes()].append(file.relative_to(FOLDER))
    assert [same for same in files.values() if len(same) > 1] == []


def test_shared_parts_replace_no_file_of_a_folder() -> None:
    assert set(SHARED_PARTS) <= {baseline.name for baseline in baselines()}
    for baseline in baselines():
        parts = {**LICENCE, **SHARED_PARTS.get(baseline.name, {})}
        assert not [path for path in parts if (baseline.source / path).exists()]


def test_every_shared_part_is_used() -> None:
    parts = [*LICENCE.values(), *(part for parts in SHARED_PARTS.values() for part in parts.values())]
    shared = {path.name for path in (FOLDER / "shared").iterdir()} - {"__init__.py", "__pycache__"}
    assert {f"shared/{name}" for name in shared} == {part for part in parts if part.startswith("shared/")}


def test_weights_are_float32() -> None:
    for file in FOLDER.glob("*/*.safetensors"):
        assert {str(array.dtype) for array in load_file(file).values()} == {"float32"}
