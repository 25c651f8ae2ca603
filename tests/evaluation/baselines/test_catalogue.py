"""Every bundled submission is a complete repository, assembled from files that exist once."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from evaluation.baselines.bundled import FOLDER, LICENCE
from evaluation.baselines.catalogue import SHARED_PARTS, Baseline, baselines, baselines_for, find_baseline
from evaluation.baselines.transfer_catalogue import TRANSFER_PARTS
from evaluation.builder.manifest import read_manifest
from evaluation.builder.requirements import read_requirements
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import Refusal
from evaluation.domain.players import Track

LARGEST_FILE = 4 * 1024 * 1024

DIGESTS = {
    "adversarial-logit-pairing": "sha256:05778b2f43e8dcb8ff17ae66f4c0e7092e268b732e832b97b6814ece070d1d8b",
    "compact-plain": "sha256:7e2fb21554b3a10bc196566422c1206150c1e26342e9ac83b5daa8cc188b98ff",
    "compact-robust": "sha256:98d659bac3e3dd12ebeb9e126b21ae509e7a50c225c3824a1a27b04fce8ce532",
    "frozen-noise": "sha256:8e906e44bdda174dc670911f55f921c870596d1068384567c3463b46ba5f8d8e",
    "numpy-classifier": "sha256:81bb355cb7161881d7f3d1c5d1c68e4886e943d6becf2b8e78037e5ed31909a5",
    "plain-resnet": "sha256:e278c598a4e437c5ebbdf757568d4b4bb356fc5019b41f4f4f4a2040d60189af",
    "boundary": "sha256:150f1ca27fda91a0e8f833da154c0871913fc564edfe575409a46b2304c1c9fa",
    "compact-iterative-transfer": "sha256:381b57cf940d91504bdf0cc694906ac6766dafeb51489b5295d61f0a6b3b72c1",
    "compact-single-step-transfer": "sha256:a4cafc00152d2771b039a91b9b1885633f32d09c83f3adb2eb73301f01ba7926",
    "gaussian-noise": "sha256:780b9ca2f97ccea753e357dd6055e748f6964c1225e5063617e8ef1db1efcb5f",
    "iterative-transfer": "sha256:568e5d44e4dc1a50dc362b2778e9ad6bec530d72718011b661557a23e4a25c26",
    "salt-and-pepper": "sha256:d6bb93b8157a4a955da23bce30a3a05d33ba6f304da63a88d986a3e091b09131",
    "single-step-transfer": "sha256:9cb65d9776e943a444b0b70e65ad9cafaf01496b3669874c6aed1d85ac674059",
    "compact-targeted-iterative-transfer": "sha256:f7470f12606bfdb93d548cfff0ab4950b4530cb96fd984eaef50168100784d55",
    "targeted-boundary": "sha256:0aad13ca96bfa85358326cf31bde4f00c2f04fb184e5e017e795dad075d8a172",
    "targeted-interpolation": "sha256:e064553d26ad3802615b14221f679459e3dcfd99ab2d61522a50871767a8f7f2",
    "targeted-iterative-transfer": "sha256:f0834ba57e4c0465ff51042ca9078e7f3a79f8cc4f999882f9921b13a5f011e1",
    "targeted-pointwise": "sha256:510faf82ae093d228416c5a062c2b4999ebbc37b79c1e1d9cece5108e4f0c681",
}
"""A changed digest is another player: sites that have built the old one play both."""

every_baseline = pytest.mark.parametrize("baseline", baselines(), ids=lambda baseline: baseline.name)


def test_it_works() -> None:
    tracks = [baseline.track for baseline in baselines()]
    assert [tracks.count(track) for track in Track] == [6, 7, 5]
    assert len({baseline.name for baseline in baselines()}) == 18


def test_each_data_set_has_its_submissions() -> None:
    digits, photographs, others = (baselines_for(name) for name in ("digits", "tiny-imagenet:DIR", "cifar10"))
    assert [baseline.name for baseline in others] == ["boundary", "gaussian-noise", "salt-and-pepper"]
    assert set(digits) & set(photographs) == set(others)
    assert {baseline.track for baseline in photographs} == set(Track)
    assert set(digits) | set(photographs) == set(baselines())


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
    both = (*SHARED_PARTS.values(), *TRANSFER_PARTS.values())
    parts = [*LICENCE.values(), *(part for parts in both for part in parts.values())]
    shared = {path.name for path in (FOLDER / "shared").iterdir()} - {"__init__.py", "__pycache__"}
    assert {f"shared/{name}" for name in shared} == {part for part in parts if part.startswith("shared/")}


def test_weights_of_photographs_are_in_half_precision() -> None:
    for file in FOLDER.glob("*/*.safetensors"):
        expected = "float16" if file.parent.name.startswith("compact-") else "float32"
        assert {str(array.dtype) for array in load_file(file).values()} == {expected}
