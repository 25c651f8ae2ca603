"""The import contracts hold, and each contract detects a violation."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CODE = ("evaluation", "platform", "pyproject.toml")

VIOLATIONS = {
    "an engine that imports a framework": (
        "evaluation/scoring/planted.py",
        "import django.db",
        "Engine: no web framework and no site code BROKEN",
    ),
    "a referee that imports the sandbox": (
        "evaluation/formats/query/referee/planted.py",
        "import evaluation.sandbox.base",
        "Engine: referee, tournaments and scores start nothing and read no data set BROKEN",
    ),
    "results that need scores": (
        "evaluation/formats/transfer/results.py",
        "import evaluation.scoring.distances",
        "Engine: rules and results of a format need the domain alone BROKEN",
    ),
    "results that import a module of their format": (
        "evaluation/formats/transfer/results.py",
        "import evaluation.formats.transfer.scoring.scores",
        "Engine: inside a format's package, modules depend only on lower ones BROKEN",
    ),
    "a verifier that builds": (
        "evaluation/formats/query/bundle/planted.py",
        "import evaluation.builder.base",
        "Engine: a bundle of the query format is verified without builder, baselines and reports BROKEN",
    ),
    "a format that imports another": (
        "evaluation/formats/query/referee/planted.py",
        "import evaluation.formats.transfer.rules",
        "Formats: packages of the engine are independent BROKEN",
    ),
    "a format of files that imports the SDK": (
        "evaluation/formats/transfer/runner/planted.py",
        "import gauntlet.frames",
        "Formats: the transfer format does not use the SDK BROKEN",
    ),
    "a shared page that imports the rules of a format": (
        "platform/pages/planted.py",
        "import evaluation.formats.query.rules",
        "Formats: shared apps ask the parts that formats register BROKEN",
    ),
    "shared code that imports a format": (
        "evaluation/builder/planted.py",
        "import evaluation.formats.query.rules",
        "Engine: packages depend only on lower packages BROKEN",
    ),
    "a module of a format without a layer": (
        "evaluation/formats/transfer/planted/__init__.py",
        "",
        "evaluation.formats.transfer.planted",
    ),
    "a domain that imports the builder": (
        "evaluation/domain/planted.py",
        "import evaluation.builder.base",
        "Engine: packages depend only on lower packages BROKEN",
    ),
    "an SDK that needs torch": (
        "evaluation/sdk/gauntlet/planted.py",
        "import torch",
        "SDK: numpy and the standard library BROKEN",
    ),
    "an SDK that needs the engine": (
        "evaluation/sdk/gauntlet/planted.py",
        "import evaluation.formats.query.rules",
        "SDK: numpy and the standard library BROKEN",
    ),
    "a page that speaks the protocol": (
        "platform/pages/planted.py",
        "import gauntlet.frames",
        "Adapters: only adapter modules of the site import the engine's machinery BROKEN",
    ),
    "an engine that imports the site": (
        "evaluation/scoring/planted.py",
        "import pages.urls",
        "Site: apps depend only on lower apps, and on the engine below them BROKEN",
    ),
    "a page that imports the settings": (
        "platform/pages/planted.py",
        "import config.environment",
        "Site: apps depend only on lower apps, and on the engine below them BROKEN",
    ),
    "a package without a layer": ("evaluation/planted/__init__.py", "", "evaluation.planted"),
}


LINT = """
import json, sys
from pathlib import Path
from click.testing import CliRunner
sys.path[:0] = [".", "platform", "evaluation/sdk"]
from importlinter.cli import lint_imports_command
for file, statement in json.load(sys.stdin):
    planted = Path(file)
    made = not planted.parent.exists()
    before = planted.read_text() if planted.exists() else None
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(statement)
    done = CliRunner().invoke(lint_imports_command, [])
    planted.unlink()
    if before is not None:
        planted.write_text(before)
    elif made:
        planted.parent.rmdir()
    print(json.dumps([done.exit_code, done.output]))
"""
"""Run import-linter on the code in this folder with each of the files on stdin, one at a time."""


def lint(tree: Path, *planted: tuple[str, str]) -> list[tuple[int, str]]:
    """Run import-linter, in a process that imports it once, with each file of `planted` in `tree` in turn.

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
    kept, *rejected = lint(tree, ("evaluation/scoring/planted.py", ""), *(each[:2] for each in VIOLATIONS.values()))
    assert kept[0] == 0, kept[1]
    for (violation, (_, _, message)), (status, output) in zip(VIOLATIONS.items(), rejected, strict=True):
        assert status != 0, violation
        assert message in output, violation
