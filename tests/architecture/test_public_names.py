"""The public names of the engine, and the Python versions of participants."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from types import ModuleType

import pytest

PUBLIC = {
    "evaluation": {"__version__"},
    "evaluation.sdk": {"BudgetExhausted", "ModelHandle", "as_uint8", "serve_attack", "serve_model"},
}

SHIPPED_WITH_THE_SDK = ("evaluation/__init__.py", "evaluation/protocol/__init__.py", "evaluation/protocol/frames.py")


def own_names(module: ModuleType) -> set[str]:
    """Return the public names of `module` that are not modules."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and name != "annotations" and not isinstance(value, ModuleType)
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_it_works(name: str) -> None:
    module = importlib.import_module(name)
    assert set(module.__all__) == PUBLIC[name]
    assert len(module.__all__) == len(PUBLIC[name])
    assert own_names(module) <= PUBLIC[name], "a public name is missing from __all__"


def participants_files(root: Path) -> list[Path]:
    """Return the files that run with a submission, in the participant's Python."""
    return [*sorted((root / "evaluation/sdk").rglob("*.py")), *(root / name for name in SHIPPED_WITH_THE_SDK)]


def test_participants_can_use_python_3_8(root: Path) -> None:
    files = participants_files(root)
    assert len(files) > len(SHIPPED_WITH_THE_SDK)
    for file in files:
        tree = ast.parse(file.read_text(), filename=str(file), feature_version=(3, 8))
        # without it, annotations such as `int | None` are evaluated, and Python 3.8 cannot
        assert any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body) or not any(
            isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body
        ), f"{file} does not begin with `from __future__ import annotations`"


def test_it_rejects_newer_syntax() -> None:
    with pytest.raises(SyntaxError):
        ast.parse("match 1:\n    case 1:\n        pass\n", feature_version=(3, 8))
