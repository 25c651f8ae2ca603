"""The scripts that a shell script starts, read without running it."""

from __future__ import annotations

import re
from collections.abc import Collection

from evaluation.domain.errors import BuildRefusal

_PYTHON = (
    r"^[ \t]*(?:(?:exec|time|nohup) +|[A-Za-z_]\w{0,80}=[^\s;&|$`]{0,200} +){0,8}"
    r"(?:/[\w./-]{1,200}/)?python3?(?:\.\d{1,2})?"
)
"""What starts Python at the beginning of a line: words before it, variables of its own, and its path."""

_STARTED = re.compile(rf"{_PYTHON}(?: +-[a-ln-zA-Z]+)* +(?:\./)?([\w./-]{{1,250}}\.py)\b", re.MULTILINE)
_MODULE = re.compile(rf"{_PYTHON}(?: +-[a-ln-zA-Z]+)* +-m +([A-Za-z_][\w.]{{0,250}})", re.MULTILINE)
_SHELL = re.compile(
    r"^[ \t]*(?:exec +)?(?:(?:ba|da)?sh +(?:-[a-z]+ +)*(?:\./)?|\./)([\w./-]{1,250}\.sh)\b", re.MULTILINE
)
_FOLDER = re.compile(r"^[ \t]*cd (?:\./)?([\w.][\w./-]{0,250})[ \t]*(?:$|[;&])", re.MULTILINE)


def started_scripts(text: str, name: str, paths: Collection[str], folders: Collection[str]) -> list[str]:
    """Return the paths of the Python scripts that the shell script `name` starts; none if it changes its folder.

    Raise `BuildRefusal` for a folder or a script that is neither in `folders` nor in `paths`, those of the repository.
    """
    for folder in _FOLDER.findall(text):
        if not folder.startswith("..") and folder.rstrip("/") not in folders:
            raise BuildRefusal(
                f"{name}: goes to the folder {folder!r}, which is not in the repository", fix=f"correct {name}"
            )
    if _FOLDER.search(text):
        return []  # names after it are relative to another folder
    modules = [_file_of(module, paths) for module in _MODULE.findall(text)]
    scripts = list(dict.fromkeys([*_STARTED.findall(text), *filter(None, modules)]))
    for script in scripts:
        if script not in paths:
            raise BuildRefusal(
                f"{name}: starts {script!r}, which is not in the repository", fix=f"add {script}, or correct {name}"
            )
    return scripts


def started_shell_scripts(text: str, paths: Collection[str]) -> list[str]:
    """Return which of `paths` are shell scripts that a shell script starts; none if it changes its folder."""
    return [] if _FOLDER.search(text) else [path for path in _SHELL.findall(text) if path in paths]


def _file_of(module: str, paths: Collection[str]) -> str | None:
    """Return the file of the repository that `python -m module` starts; None for a module of the environment."""
    name = module.replace(".", "/")
    return next((path for path in (f"{name}.py", f"{name}/__main__.py") if path in paths), None)
