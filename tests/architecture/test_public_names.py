"""The names that the engine and the SDK promise, and the Python that participants may bring."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PUBLIC = {
    "evaluation": {"__version__"},
    "gauntlet": {"BudgetExhausted", "ModelHandle", "as_uint8", "serve_attack", "serve_model"},
}

NEWER_THAN_3_8 = {
    "match": "match 1:\n    case 1:\n        pass\n",
    "several context managers in parentheses": "with (print() as one, print() as two):\n    pass\n",
    "a star in an index": "pairs = {}\nprint(pairs[*pairs])\n",
}


def own_names(module: ModuleType) -> set[str]:
    """Return the public names of `module` that are not modules."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and name != "annotations" and not isinstance(value, ModuleType)
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_a_module_promises_exactly_its_public_names(name: str) -> None:
    module = importlib.import_module(name)
    assert set(module.__all__) == PUBLIC[name]
    assert len(module.__all__) == len(PUBLIC[name])
    assert own_names(module) <= PUBLIC[name], "a public name is missing from __all__"


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    """Run the linter on the SDK in `tree`, with the settings there."""
    return subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", "evaluation/sdk"],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    """A copy of the SDK and of the linter's settings."""
    shutil.copy(root / "pyproject.toml", tmp_path)
    shutil.copytree(root / "evaluation" / "sdk", tmp_path / "evaluation" / "sdk")
    return tmp_path


def test_participants_may_bring_python_3_8(tree: Path) -> None:
    assert lint(tree).returncode == 0


@pytest.mark.parametrize("syntax", NEWER_THAN_3_8)
def test_the_linter_rejects_newer_syntax_in_the_sdk(tree: Path, syntax: str) -> None:
    source = f'"""A module."""\n\nfrom __future__ import annotations\n\n{NEWER_THAN_3_8[syntax]}'
    (tree / "evaluation" / "sdk" / "gauntlet" / "planted.py").write_text(source)
    result = lint(tree)
    assert result.returncode != 0
    assert "on Python 3.8" in result.stdout
