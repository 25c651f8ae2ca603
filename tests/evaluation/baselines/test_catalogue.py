"""Every bundled submission is a complete repository, assembled from files that exist once."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from evaluation.baselines.bundled import FOLDER, LICENCE
from evaluation.baselines.shared.lite_network import PACKAGE
from evaluation.baselines.shared.scaled_lite_network import VARIANTS
from evaluation.builder.manifest import read_manifest
from evaluation.builder.requirements_reader import read_requirements
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import Refusal
from evaluation.domain.players import TrackName
from evaluation.formats.query.catalogue import (
    SHARED_PARTS,
    Baseline,
    baselines,
    baselines_for,
    find_baseline,
)
from evaluation.formats.transfer.catalogue import TRANSFER_PARTS

LARGEST_FILE = 4 * 1024 * 1024

DIGESTS = {
    "adversarial-logit-pairing": "sha256:05778b2f43e8dcb8ff17ae66f4c0e7092e268b732e832b97b6814ece070d1d8b",
    "compact-plain": "sha256:64c0c4013851e6d03b34008d8e90fd10b6c51b00ff2db254dc1c39b797790e00",
    "compact-robust": "sha256:3a1238d55a3e6bc509b6b36ad521fdfe7ec5335ff8f0867fe8fd5a8e545c23e5",
    "compact-robust-025": "sha256:5ab4a74f687742e3a82b4f45c560a95e7f841a68a7c84dc11742b24e75f252de",
    "efficientnet-lite0": "sha256:0fbb74ba8eea3c6602d949052c5e47ec96b8c3a08294237680f9a076a1436bf0",
    "efficientnet-lite1": "sha256:b8cfc31e0fc66c0b29233a2cb1aa68f807adb1d1dc8c07179e9abbadc49d075b",
    "efficientnet-lite2-smoothed": "sha256:03f62800bcf3c1b16ed6885e13d8afb34c2d90fc3115ed285d2235dd1b24fbd2",
    "frozen-noise": "sha256:8e906e44bdda174dc670911f55f921c870596d1068384567c3463b46ba5f8d8e",
    "mutual-ensemble": "sha256:303cc28531a82ca6d8cb4f546b03b76793fe255c70948c738681e0b53c349dd7",
    "numpy-classifier": "sha256:33af8705ac884c90c687f6dfd213f4afdb038b8bf90b937e92c7a7e5edb742b2",
    "plain-resnet": "sha256:e278c598a4e437c5ebbdf757568d4b4bb356fc5019b41f4f4f4a2040d60189af",
    "randomised-smoothing": "sha256:1bb20508a8aada774951f5895a8a5aad2ca8f883a9af4709d0a5e51bfc818e7c",
    "trades-ensemble": "sha256:08571e806406a9a6a80b3351a91c8ad85a7b98a188cf6965233baf79a74bbdc9",
    "transformation-ensemble": "sha256:9efade808a8311bad5eacdc17c96f5dbb8cb18800bc0fcf4e5915684b47b9600",
    "adaptive-ensemble": "sha256:b61897f2213f1d00dab28c2540030ed3b1df3b53ab4732734bb0ef6616213f2a",
    "biased-boundary": "sha256:4e8bc988180de4c5ab45be9689acbc45a11421f0344f975e88001939254756b5",
    "boundary": "sha256:fc283b824d67c1490af0e424bf8fe0787fa45e8184c038118233e46f957b0aef",
    "boundary-filter": "sha256:50d70f0b5ec63921055d2149426720faf20f6b75809dbe97ea20c370e82bdfcc",
    "cgba": "sha256:f3f50e6b75bf69fcbc501b6d02072a43f747d4bbc51de1b3f5cab351c3e62580",
    "compact-adaptive-ensemble": "sha256:09bf1a9d7743cec1f175064239138c5bd8797b274ca49acbb87b0c99503bb326",
    "compact-biased-boundary": "sha256:258132220280974c44c89a859d617eeb2fc44d9421a4913d4b37a7862ef73d69",
    "compact-ensemble-transfer": "sha256:f3d70c3f8f80cd4a9866cb85cb60ab37e397a41a078c4993ee29fd7c735b6ce5",
    "compact-guided-boundary-filter": "sha256:91e9f35cc820b5cb81e3527de2a0c51e763f2d2ca27dfa4df6f0fff2750fb303",
    "compact-iterative-transfer": "sha256:7acb47e0107051543333aee89dd0285752896c2e078b706b8b8acac5f60113d4",
    "compact-pars-opt": "sha256:d6995446b0af27a79fc92f31b394ad6f8bd2f75152c10a2b1a7e9c853405f6a9",
    "compact-prior-opt": "sha256:b7892e722d170332e28d13205f7a004059fe8d0469762bb3da4df6200e453443",
    "compact-single-step-transfer": "sha256:2315d84a79f3ad9c553fde4623eb8154062d08f0c6ebda0c0cdd24ac3c91c9f0",
    "compact-sqba": "sha256:6d7a81fb6342b6ea7dc55716e0b8b955189fac9daf18041f72eeda1341812e40",
    "ensemble-transfer": "sha256:e558ae395390a1fbc2998fe03dbf097ca99ccd18f7eecc0724a955412f6f83db",
    "evolutionary": "sha256:9bc8c2d4f77857f67a7c588fc52c12d68dd7ac78151b5ea4ff155f29b5c7146a",
    "gaussian-noise": "sha256:9e5977627a9c2ff786e67b707f6d8d4b11060d0fa9c0bd5f8b461772b2f8a670",
    "geoda": "sha256:25c900dd8f409ddae44185c626366055d34fc9c0779cd357b4c4ebf4cf62f003",
    "guided-boundary-filter": "sha256:c0b877e4063ee4b756f7b6f4017a5ab735608e6c608ff419bf36b427a7cc4d7d",
    "hopskipjump": "sha256:ecd8cb10f6e0338f74ca7251e12cdd1f9991d4ecfac0c3dd9b44fce2fc509ec6",
    "iterative-transfer": "sha256:d2f412353124e36474b94e22962257c4ed342ed164d0f2aaa5ebc7e890b26e4f",
    "pars-opt": "sha256:5846a4f616dcfd066bda65d9237c81b6d7b1212e494c693c6937a40d5db77fc0",
    "prior-opt": "sha256:d543173bfcf36103ed3ffd92498efff3c835a41c94a17fcd1ca0c226fa67765f",
    "qeba": "sha256:05d39682993f11d33f6935d9e3f1a20c4351a36ad068c31ee815af9af345739f",
    "salt-and-pepper": "sha256:e72bea218057aff0a8d7bf4fbdf4ab7b4b062c0077b204f124aaec1184bceb76",
    "single-step-transfer": "sha256:45e9840b8ebe417eb312a33e54e38c8c158cac25ef81fff12f73e59c66ca28dc",
    "sqba": "sha256:bbc46a39f5904de4bb57e8f8df38f29d7922f08f6441635b0a3e686232ab0cbe",
    "surfree": "sha256:ae6ca8acbf4a92b36d6df60c7ce4f5a491f187b01395d6e1e7978fa479ffcd69",
    "tangent": "sha256:39730f9ae5baea56072574fc84ad6a0cf0af692845149492ef6914db9557d6c3",
    "compact-targeted-adaptive-ensemble": "sha256:70c1818b67ea0588ae511999bfd02ce58ce1e72d478bd9dd1e31e8e0db5664d7",
    "compact-targeted-biased-boundary": "sha256:579cc6992f84428bbfc822a9578dd43596cae6b55cd58be12a6391d4dea242d3",
    "compact-targeted-ensemble-transfer": "sha256:83977213b4a949f23def3f348b65809137ad5eb4fde35673f3dabaf651b93948",
    "compact-targeted-guided-boundary-filter": (
        "sha256:e897cd2241b3de2bdbd489e5eb5cd1f95595f5796aa43ce41ab0cef531a338da"
    ),
    "compact-targeted-iterative-transfer": "sha256:5b8b5f170811f40707e3bafa334e276655ac92aae3d4953f26950798ae95d885",
    "compact-targeted-pars-opt": "sha256:cf31fe7267d149830c3f9f6bef3ef390458d846900b3dd80e2aff85592ff08ad",
    "compact-targeted-prior-opt": "sha256:4fbf91aff2b33f62f58890d7f82932e5e470be02dedd0c62b2996494f42fe201",
    "targeted-adaptive-ensemble": "sha256:42a02db5f69d5258e4489c8c5ca55daddefd510e9b0f135beb3813cb2cb39884",
    "targeted-biased-boundary": "sha256:b988bb4c31651e468d99c50ef5fe49c2ceb84316d89f217cb0ab5e2c38fcec17",
    "targeted-boundary": "sha256:c447dc6277ff8935e874a7c5a0a686af99503484b8487aa7c1bf002ff1d09b70",
    "targeted-boundary-filter": "sha256:a7149f269956bbeb6a6e5ddaece8e8c0cbee4d832eff606494a5d937337c4b64",
    "targeted-cgba": "sha256:a85dc07279106145f3af7b06f40d592d7b72509f92ee3b8023fd5ae4b562aa5d",
    "targeted-ensemble-transfer": "sha256:21877ce00408d1a1540caca2ce07d2ece111d8dc27c56575739d67a1d11fec05",
    "targeted-evolutionary": "sha256:108624e835ae1c58640a95c0ab9e1f03aef249cfd94fabc9432a5153866e8bc0",
    "targeted-guided-boundary-filter": "sha256:feaf82acc1d037668f33e45ed7609c3e74fc63c6163d276cc284df7f630169fa",
    "targeted-hopskipjump": "sha256:14b49c29b6e60e360d4f764c377cacb731be40a70ed8291a5fbe94da77ef4da0",
    "targeted-interpolation": "sha256:f64972f1e83db1dfab0957a24993c438b0c20677012706c6bbacc9f7be2af59e",
    "targeted-iterative-transfer": "sha256:06ff4ec3a09d322a56aa71d6c8d6a1200a2f22529643c8ebf0e1b14021fadf70",
    "targeted-pars-opt": "sha256:13651d979ae1c5729bb0110d569bf06c3d41207eb3417dab3ba02ebdacc9c034",
    "targeted-pointwise": "sha256:ca2eea79c57e4ff40cd8a922bf7823470be65cd6c23a55150715e8e99e57de42",
    "targeted-prior-opt": "sha256:127b50901e5766522e005bb4ffa7d26bb957694361c502f873c0fd39cb45f8b4",
    "targeted-qeba": "sha256:268c412e9f830ff397e05b9e158de1570f4b2a6e721434ebecf4d99add8b1433",
    "targeted-tangent": "sha256:d12956ae93a0441280430c19d8135eac8a11326b42105387fefee2a0b645237f",
}
"""A changed digest is another player: sites that have built the old one play both."""

every_baseline = pytest.mark.parametrize("baseline", baselines(), ids=lambda baseline: baseline.name)


def test_the_catalogue_has_its_submissions_of_each_track_with_different_names() -> None:
    tracks = [baseline.track for baseline in baselines()]
    assert [tracks.count(track) for track in TrackName] == [14, 29, 23]
    assert len({baseline.name for baseline in baselines()}) == 66


def test_each_data_set_has_its_submissions() -> None:
    digits, photographs, others = (baselines_for(name) for name in ("digits", "tiny-imagenet:DIR", "cifar10"))
    assert [baseline.name for baseline in others] == [
        "boundary",
        "boundary-filter",
        "cgba",
        "evolutionary",
        "gaussian-noise",
        "geoda",
        "hopskipjump",
        "qeba",
        "salt-and-pepper",
        "surfree",
        "tangent",
    ]
    assert [baseline.name for baseline in others if baseline.in_demo] == [
        "boundary",
        "gaussian-noise",
        "salt-and-pepper",
    ]
    assert set(digits) & set(photographs) == set(others)
    assert {baseline.track for baseline in photographs} == set(TrackName)
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
    readme = (repository / "README.md").read_text()
    assert baseline.name in readme
    assert set(re.findall(r"gauntlet new (\w+)", readme)) <= {baseline.track}
    assert "Apache License" in (repository / "LICENSE").read_text()
    lines = read_requirements(repository / "requirements.txt", name="requirements.txt")
    assert lines
    assert all(line.requirement is not None for line in lines)


def test_a_document_that_a_readme_names_for_distances_has_them(root: Path) -> None:
    for baseline in baselines():
        readme = (baseline.repository() / "README.md").read_text()
        for page in re.findall(r"`(docs/[\w-]+\.md)`", readme):
            other = re.search(r"has distances of `([\w-]+)`", readme)
            measured = other[1] if other else baseline.name
            assert re.search(rf"(?<![\w-]){measured}(?![\w-])", (root / page).read_text()), (baseline.name, page)


@every_baseline
def test_files_are_small(baseline: Baseline) -> None:
    files = [file for file in baseline.repository().rglob("*") if file.is_file()]
    assert all(file.stat().st_size < LARGEST_FILE for file in files)


@every_baseline
def test_its_digest_is_that_of_the_assembled_tree(baseline: Baseline, tmp_path: Path) -> None:
    baseline.assemble(tmp_path)
    assert tree_digest(tmp_path) == baseline.digest == tree_digest(baseline.repository()) == DIGESTS[baseline.name]


def test_an_attack_for_tiny_imagenet_is_that_for_digits_with_other_weights_and_radii() -> None:
    def program(files: Path) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in files.glob("*.py") if file.name != "surrogates.py"}

    names = {each.name for each in baselines() if each.name.startswith("compact-") and each.track != TrackName.MODEL}
    assert len(names) == 16
    for name in names:
        own, other = (find_baseline(one).repository() for one in (name, name.removeprefix("compact-")))
        assert program(own) == program(other)
        assert (own / "requirements.txt").read_bytes() == (other / "requirements.txt").read_bytes()
        for files in ("*.py", "*.safetensors"):
            assert {file.name for file in own.glob(files)} == {file.name for file in other.glob(files)}


def test_a_package_that_gauntlet_does_not_need_is_a_requirement(monkeypatch: pytest.MonkeyPatch) -> None:
    packages = {"efficientnet-lite0": PACKAGE} | {name: variant.package for name, variant in VARIANTS.items()}
    for package in packages.values():
        monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
    assert {each.name: each.missing_package for each in baselines() if each.missing_package} == packages
    for name, package in packages.items():
        assert package in (find_baseline(name).repository() / "requirements.txt").read_text().splitlines()


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


def test_weights_are_in_half_precision_but_for_those_of_the_first_trainer() -> None:
    first = {"adversarial-logit-pairing", "frozen-noise", "plain-resnet"}
    for file in FOLDER.glob("*/*.safetensors"):
        expected = "float32" if file.parent.name in first else "float16"
        assert {str(array.dtype) for array in load_file(file).values()} == {expected}
