"""Templates: each is a submission that works, where its framework is installed."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.baselines.templates import FRAMEWORKS, Template
from evaluation.builder.build_description import plan_build
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.cli import main
from evaluation.formats.registry import find_template, formats

PINS = dict(line.split("==") for line in Path("constraints.txt").read_text().splitlines() if "==" in line)
TEMPLATES = [template for each in formats for template in each.templates()]
HERE = [each for each in TEMPLATES if importlib.util.find_spec(each.framework.package)]
"""Those whose frameworks are installed; the tests need numpy and PyTorch."""


def named(template: Template) -> str:
    return f"{template.framework.name}-{template.track}"


def checked(template: Template) -> bool:
    """Whether it is played: all tracks in numpy, and in others those that ask for scores alone, and for gradients.

    The program of a track is the same in every framework, and networks give the same answers.
    """
    alike = template.framework.gradients and template.framework.name != "numpy"
    return not alike or template.track in ("model", "untargeted")


@pytest.mark.parametrize("template", [each for each in HERE if checked(each)], ids=named)
def test_it_passes_its_check(template: Template, tmp_path: Path) -> None:
    directory = tmp_path / "mine"
    assert main(["new", template.track, str(directory), "--template", template.framework.name]) == 0
    assert main(["check", str(directory), "--samples", "2"]) == 0


@pytest.mark.parametrize("template", TEMPLATES, ids=named)
def test_the_push_gate_would_take_it(template: Template, tmp_path: Path) -> None:
    template.assemble(tmp_path)
    assert (tmp_path / template.manifest).is_file()
    if template.manifest == "submission.toml":
        plan_build("docker", tmp_path, BuildSettings())
    sources = {path.stem: ast.parse(path.read_text()) for path in tmp_path.glob("*.py")}
    defined = {node.name for node in sources["network"].body if isinstance(node, ast.FunctionDef)}
    assert ("gradients" in defined) == template.framework.gradients
    imported = {
        (node.module, alias.name)
        for tree in sources.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in sources
        for alias in node.names
    }
    for module, name in imported:
        assert name in {node.name for node in sources[module or ""].body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_its_requirements_are_pinned_as_the_engine_s_own(name: str, tmp_path: Path) -> None:
    find_template(name, "model").assemble(tmp_path)
    pinned = [line.split("==") for line in (tmp_path / "requirements.txt").read_text().splitlines()]
    assert all(re.fullmatch(r"[0-9]+(\.[0-9]+)+", version) for _, version in pinned)
    assert all(PINS.get(package, version) == version for package, version in pinned)


def test_the_network_of_onnx_runtime_is_that_of_the_others(tmp_path: Path) -> None:
    find_template("onnxruntime", "model").assemble(tmp_path)
    model = (tmp_path / "model.onnx").read_bytes()
    for values in weights(find_template("numpy", "model"), tmp_path / "numpy").values():
        assert values.astype("<f4").tobytes() in model


@pytest.mark.parametrize(
    "framework", sorted({each.framework.name for each in HERE if each.framework.gradients} - {"numpy"})
)
def test_networks_of_all_frameworks_give_the_same_scores_and_gradients(framework: str, tmp_path: Path) -> None:
    networks = []
    for name in ("numpy", framework):
        find_template(name, "model").assemble(tmp_path / name)
        path = tmp_path / name / "network.py"
        spec = importlib.util.spec_from_file_location(f"network_in_{name}", path)
        assert spec is not None
        assert spec.loader is not None
        networks.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(networks[-1])
    rng = np.random.default_rng(0)
    weighted = rng.standard_normal((3, 10)).astype(np.float32)
    levels = rng.integers(0, 256, (3, 64, 64, 3), np.uint8)
    for images in (levels, levels + np.float32(0.25), levels - 0.25):
        expected, found = (network.scores(images) for network in networks)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
        expected, found = (network.gradients(images, weighted) for network in networks)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)


def weights(template: Template, directory: Path) -> dict[str, NDArray[np.float32]]:
    template.assemble(directory)
    return dict(np.load(directory / "weights.npz", allow_pickle=False))


def test_it_rejects_an_attack_in_a_framework_without_gradients(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "untargeted", str(tmp_path / "mine"), "--template", "onnxruntime"]) == 2
    assert "fix: choose --template numpy, pytorch, tensorflow, jax" in capsys.readouterr().err


def test_it_rejects_start_images_for_a_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["new", "targeted", str(tmp_path / "mine"), "--template", "numpy", "--starts", "digits"]
    assert main(words) == 2
    assert "takes no start images" in capsys.readouterr().err
