"""The import contracts hold, and each is seen to fail when it is broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CODE = ("evaluation", "platform", "pyproject.toml")

BREACHES = {
    "an engine that knows a framework": (
        "evaluation/scoring/planted.py",
        "import django.db",
        "Engine: no framework BROKEN",
    ),
    "a referee that knows the sandbox": (
        "evaluation/referee/planted.py",
        "import evaluation.sandbox.base",
        "Engine: dependencies point down BROKEN",
    ),
    "a domain that knows the builder": (
        "evaluation/domain/planted.py",
        "import evaluation.builder.base",
        "Engine: dependencies point down BROKEN",
    ),
    "an SDK that needs torch": (
        "evaluation/sdk/gauntlet/planted.py",
        "import torch",
        "SDK: numpy and the standard library BROKEN",
    ),
    "an SDK that needs the engine": (
        "evaluation/sdk/gauntlet/planted.py",
        "import evaluation.domain.rules",
        "SDK: numpy and the standard library BROKEN",
    ),
    "a page that speaks the protocol": (
        "platform/pages/planted.py",
        "import gauntlet.frames",
        "One door: the site reaches the engine's machinery through adapters alone BROKEN",
    ),
    "an engine that knows the site": (
        "evaluation/scoring/planted.py",
        "import pages.views",
        "Site: dependencies point down, and the engine is below it BROKEN",
    ),
    "a page that knows the settings": (
        "platform/pages/planted.py",
        "import config.environment",
        "Site: dependencies point down, and the engine is below it BROKEN",
    ),
    "a room that is in no layer": ("evaluation/planted/__init__.py", "", "evaluation.planted"),
}


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the code in `tree`, and on no other copy of it."""
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]; from importlinter.cli import lint_imports_command as run; run([])"
    )
    return subprocess.run(
        [sys.executable, "-c", program, str(tree), str(tree / "platform"), str(tree / "evaluation" / "sdk")],
        cwd=tree,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    """A copy of the code, its import contracts with it."""
    for name in CODE:
        if (root / name).is_dir():
            shutil.copytree(
                root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.safetensors", "*.npz")
            )
        else:
            shutil.copy(root / name, tmp_path / name)
    return tmp_path


def test_it_works(tree: Path) -> None:
    result = lint(tree)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("breach", BREACHES)
def test_it_rejects(tree: Path, breach: str) -> None:
    file, statement, verdict = BREACHES[breach]
    (tree / file).parent.mkdir(exist_ok=True)
    (tree / file).write_text(f"{statement}\n")
    result = lint(tree)
    assert result.returncode != 0
    assert verdict in result.stdout + result.stderr
