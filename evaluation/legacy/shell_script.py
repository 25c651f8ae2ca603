"""The Python scripts that a shell script starts, read without running it."""

from __future__ import annotations

import re
from collections.abc import Collection

from evaluation.domain.errors import BuildRefusal

_STARTED = re.compile(
    r"^[ \t]*(?:exec )?python3?(?:\.\d)?(?: -[a-zA-Z]+)* (?:\./)?([\w./-]{1,250}\.py)\b", re.MULTILINE
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
    scripts = list(dict.fromkeys(_STARTED.findall(text)))
    for script in scripts:
        if script not in paths:
            raise BuildRefusal(
                f"{name}: starts {script!r}, which is not in the repository", fix=f"add {script}, or correct {name}"
            )
    return scripts
