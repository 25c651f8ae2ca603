"""What submissions of 2018 import: modules of their own, in Python that 3.8 can read."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from evaluation.legacy.player_modules import PLAYER_MODULES, SOURCE, START

FILES = sorted(SOURCE.rglob("*.py"))
ALLOWED = {"numpy", "gauntlet", *(path.stem for path in SOURCE.iterdir()), *sys.stdlib_module_names}


def test_every_module_is_written_and_the_kept_copy_is_called_by_its_digest(tmp_path: Path) -> None:
    PLAYER_MODULES.write(tmp_path)
    written = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.py")}
    assert written == {path.relative_to(SOURCE) for path in FILES}
    assert Path(START) in written
    assert PLAYER_MODULES.kept().name == PLAYER_MODULES.digest()[:16]
    assert (PLAYER_MODULES.kept() / START).read_bytes() == (SOURCE / START).read_bytes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_module_imports_numpy_and_the_standard_library_alone(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"), feature_version=(3, 8))
    # what stands inside a function is imported only where a program uses it
    for statement in tree.body:
        names: list[str] = []
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            names = [statement.module or ""]
        assert {name.partition(".")[0] for name in names} <= ALLOWED
