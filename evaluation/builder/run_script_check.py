"""Check that the script that `run` starts is in the repository. It refuses only in certain cases. Pure.

A case is certain if a relative path is the program itself (`./player.sh`), or the first word after an interpreter
(`python main.py`) and its options without a value. Not checked: `-m`, `-c` and every unknown option, absolute paths,
paths with `..`, and repositories with a file whose build may write further files (`BUILD_CODE`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from evaluation.builder.allowed_submission_files import BINDER_DIRECTORIES
from evaluation.domain.errors import ManifestRefusal

BUILD_CODE = frozenset({"Dockerfile", "postBuild", "setup.py", "pyproject.toml", "install.R", "default.nix"})
"""Files that make a build run the repository's code."""

_INTERPRETER = re.compile(r"python(3(\.\d+)?)?|bash|sh|perl|ruby|node|julia|Rscript")
_PYTHON_FLAGS = re.compile(r"-[bBdEiIOPqsSuvx]+")
_MOST_COMPARED = 500
"""The most names that a missing one is compared with, so that the hint is fast."""


def require_script(run: Sequence[str], paths: Collection[str]) -> None:
    """Raise `ManifestRefusal` if `run` starts a script that is certainly not in `paths`, all files of a repository.

    Paths are relative to the top of the repository, with slashes.
    """
    script = _script_of(run)
    if script is None or _runs_code_of_its_own(paths):
        return
    if any(path == script or path.startswith(f"{script}/") for path in paths):
        return
    near = _nearest(script, paths)
    hint = f"; did you mean {near!r}?" if near else ""
    raise ManifestRefusal(
        f"submission.toml: run starts {script!r}, which is not in the commit",
        fix=f"name a file of the repository in run, or add and commit {script}{hint}",
    )


def _script_of(run: Sequence[str]) -> str | None:
    """Return the path in the repository that `run` certainly starts, without `./`; None if that is unknown."""
    program = run[0]
    if "/" in program and not program.startswith("/"):
        return _inside(program)
    name = PurePosixPath(program).name
    if not _INTERPRETER.fullmatch(name):
        return None
    flags = _PYTHON_FLAGS if name.startswith("python") else None
    rest = list(run[1:])
    while rest and flags is not None and flags.fullmatch(rest[0]):
        rest.pop(0)
    return _inside(rest[0]) if rest and not rest[0].startswith("-") else None


def _inside(path: str) -> str | None:
    parts = PurePosixPath(path).parts
    return None if path.startswith("/") or ".." in parts or not parts else "/".join(parts)


def _runs_code_of_its_own(paths: Collection[str]) -> bool:
    return any(PurePosixPath(path).name in BUILD_CODE or path.partition("/")[0] in BINDER_DIRECTORIES for path in paths)


def _nearest(script: str, paths: Collection[str]) -> str | None:
    name = PurePosixPath(script).name
    moved = min((path for path in paths if PurePosixPath(path).name == name), key=len, default=None)
    if moved is not None:
        return moved
    folder = str(PurePosixPath(script).parent)
    neighbours = sorted(path for path in paths if str(PurePosixPath(path).parent) == folder)[:_MOST_COMPARED]
    return next(iter(difflib.get_close_matches(script, neighbours, n=1)), None)
