"""A submission's own package called `evaluation`, a common name, does not hide the SDK."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.builder.choose_builder import choose_builder
from evaluation.datasets.load import load_dataset
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.play_match import play
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.process_sandbox import ProcessSandbox

RULES = QueryRules(classes=10, query_budget=60)
SANDBOXES: dict[str, Callable[[], Sandbox]] = {
    "bubblewrap": lambda: ProcessSandbox(bubblewrapped=True),
    "plain process": lambda: ProcessSandbox(bubblewrapped=False),
    "docker": DockerSandbox,
}


@pytest.fixture
def model(root: Path, tmp_path: Path) -> Path:
    """The honest model, all of whose code is in a package `evaluation`."""
    repository = tmp_path / "model"
    shutil.copytree(root / "tests" / "repos" / "players" / "honest-model", repository)
    (repository / "evaluation").mkdir()
    (repository / "evaluation" / "__init__.py").touch()
    (repository / "main.py").rename(repository / "evaluation" / "classifier.py")
    (repository / "main.py").write_text("import evaluation.classifier\n")
    return repository


@pytest.mark.parametrize("name", ["bubblewrap", "plain process", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_model_with_a_package_called_evaluation_plays_a_match(root: Path, model: Path, name: str) -> None:
    sandbox = SANDBOXES[name]()
    builder = choose_builder(sandbox.name)
    attack = root / "tests" / "repos" / "players" / "honest-attack"
    played = play(
        model=builder.build(model, on_log=lambda line: None),
        attack=builder.build(attack, on_log=lambda line: None),
        samples=load_dataset("digits").samples("dev")[1:4],
        rules=RULES,
        sandbox=sandbox,
        seed=1,
        resources=Resources(memory_bytes=512 << 20, processes=64),
        level_caches=False,
    )
    assert played.result.failures == ()
    assert played.result.audit.passed
    assert [str(row.outcome) for row in played.result.samples] == ["adversarial"] * 3
