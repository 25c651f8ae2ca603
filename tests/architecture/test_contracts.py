"""The import contracts hold, and each contract detects a violation."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CODE = ("evaluation", "platform", "pyproject.toml")

VIOLATIONS = {
    "an engine that imports a framework": (
        "evaluation/scoring/planted.py",
        "import django",
        "Engine: no web framework and no site code",
    ),
    "a referee that imports the sandbox": (
        "evaluation/formats/query/referee/planted.py",
        "import evaluation.sandbox.base",
        "Engine: referee, tournaments and scores start nothing and read no data set",
    ),
    "results that need scores": (
        "evaluation/formats/transfer/results.py",
        "import evaluation.scoring.distances",
        "Engine: rules and results of a format need the domain alone",
    ),
    "results that import a module of their format": (
        "evaluation/formats/transfer/results.py",
        "import evaluation.formats.transfer.scoring.scores",
        "Engine: inside a format's package, modules depend only on lower ones",
    ),
    "a verifier that builds": (
        "evaluation/formats/query/bundle/planted.py",
        "import evaluation.builder.base",
        "Engine: a bundle of the query format is verified without builder, baselines and reports",
    ),
    "a format that imports another": (
        "evaluation/formats/query/referee/planted.py",
        "import evaluation.formats.transfer.rules",
        "Formats: packages of the engine are independent",
    ),
    "a format of files that imports the SDK": (
        "evaluation/formats/transfer/runner/planted.py",
        "import gauntlet.frames",
        "Formats: the transfer format does not use the SDK",
    ),
    "a shared page that imports the rules of a format": (
        "platform/pages/planted.py",
        "import evaluation.formats.query.rules",
        "Formats: shared apps ask the parts that formats register",
    ),
    "shared code that imports a format": (
        "evaluation/builder/planted.py",
        "import evaluation.formats.query.rules",
        "Engine: packages depend only on lower packages",
    ),
    "a domain that imports the builder": (
        "evaluation/domain/planted.py",
        "import evaluation.builder.base",
        "Engine: packages depend only on lower packages",
    ),
    "an SDK that needs torch": (
        "evaluation/sdk/gauntlet/planted.py",
        "import torch",
        "SDK: numpy and the standard library",
    ),
    "an SDK that needs the engine": (
        "evaluation/sdk/gauntlet/planted.py",
        "import evaluation.formats.query.rules",
        "SDK: numpy and the standard library",
    ),
    "a page that speaks the protocol": (
        "platform/pages/planted.py",
        "import gauntlet.frames",
        "Adapters: only adapter modules of the site import the engine's machinery",
    ),
    "an engine that imports the site": (
        "evaluation/scoring/planted.py",
        "import pages.urls",
        "Site: apps depend only on lower apps, and on the engine below them",
    ),
    "a page that imports the settings": (
        "platform/pages/planted.py",
        "import config.environment",
        "Site: apps depend only on lower apps, and on the engine below them",
    ),
}
"""The file, the statement in it, and the contract that it violates."""

WITHOUT_LAYER = {
    "evaluation.formats.transfer.planted": "evaluation/formats/transfer/planted/__init__.py",
    "evaluation.planted": "evaluation/planted/__init__.py",
}

LINT = """
import json, sys
from pathlib import Path
from click.testing import CliRunner
sys.path[:0] = [".", "platform", "evaluation/sdk"]
from importlinter.cli import lint_imports_command
for files in json.load(sys.stdin):
    before = {}
    for file, text in files.items():
        planted = Path(file)
        made = not planted.parent.exists()
        before[planted] = planted.read_text() if planted.exists() else None, made
        planted.parent.mkdir(exist_ok=True)
        planted.write_text(text)
    done = CliRunner().invoke(lint_imports_command, [])
    for planted, (text, made) in before.items():
        planted.unlink()
        if text is not None:
            planted.write_text(text)
        elif made:
            planted.parent.rmdir()
    print(json.dumps([done.exit_code, done.output]))
"""
"""Run import-linter on the code in this folder with each set of files on stdin, one set at a time."""


def lint(tree: Path, *planted: dict[str, str]) -> list[tuple[int, str]]:
    """Run import-linter, in a process that imports it once, with each set of files and their texts in `tree` in turn.

    Return the statuses and what it printed.
    """
    done = subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=tree,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
        input=json.dumps(planted),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def broken_contracts(output: str) -> dict[str, str]:
    """What import-linter prints below each of its headings: the imports that a contract does not allow."""
    _, *parts = re.split(r"\n(.+)\n-+\n", output)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    """A copy of the code with its import contracts."""
    for name in CODE:
        if (root / name).is_dir():
            shutil.copytree(
                root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.safetensors", "*.npz")
            )
        else:
            shutil.copy(root / name, tmp_path / name)
    return tmp_path


@pytest.mark.slow(6)
def test_the_code_keeps_every_import_contract_and_each_rejects_a_violation(tree: Path) -> None:
    violations: dict[str, str] = {}
    for file, statement, _ in VIOLATIONS.values():
        violations[file] = violations.get(file, "") + f"{statement}\n"
    without_layer = [{file: ""} for file in WITHOUT_LAYER.values()]

    kept, rejected, *unplaced = lint(tree, {"evaluation/scoring/planted.py": ""}, violations, *without_layer)

    assert kept[0] == 0, kept[1]
    assert rejected[0] != 0
    found = broken_contracts(rejected[1])
    for violation, (file, statement, contract) in VIOLATIONS.items():
        importer, imported = Path(file).with_suffix(""), statement.removeprefix("import ")
        assert f"{importer.parent.name}.{importer.name} -> {imported} (l." in found.get(contract, ""), violation
    for module, (status, output) in zip(WITHOUT_LAYER, unplaced, strict=True):
        assert status != 0, module
        assert module in output, module
