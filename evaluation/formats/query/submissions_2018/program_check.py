"""What a repository of 2018 lacks to run: found in its files, before anything is started."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from evaluation.builder.allowed_submission_files import TreeEntry
from evaluation.domain.errors import BuildRefusal
from evaluation.legacy.environment import LegacyEnvironment
from evaluation.legacy.missing_weights import require_weights
from evaluation.legacy.program_imports import Imports
from evaluation.legacy.shell_script_reader import started_scripts

START = "run.sh"

MODULES_FOLDER = ".gauntlet-2018"
"""The directory of the arena's modules in an image, beside the files of the submission."""

_MOST_SCRIPT_BYTES = 64 << 10


def check_program(source: Path, entries: Collection[TreeEntry], environment: LegacyEnvironment, own: Path) -> None:
    """Raise `BuildRefusal` for what keeps the program in `source` from running, in one sentence.

    1. `run.sh` is there, and bash can read it; nothing has the name of the arena's modules.
    2. No weights are a Git LFS pointer, or missing.
    3. The folders and scripts that `run.sh` names are there.
    4. The modules that those scripts import at their start are in the repository, in the legacy environment, or in
       `own`, the arena's modules.
    """
    paths = {str(entry.path) for entry in entries}
    if any(path.partition("/")[0] == MODULES_FOLDER for path in paths):
        raise BuildRefusal(
            f"{MODULES_FOLDER}: the arena's modules have this name in an image", fix="give it another name"
        )
    text = _start_script(source)
    require_weights(source, entries, paths)
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    imports = Imports(source, paths, folders, environment, own)
    for script in started_scripts(text, START, paths, folders):
        imports.check(script)


def _start_script(source: Path) -> str:
    if not (source / START).is_file():
        raise BuildRefusal(f"{START} is missing", fix=f"add {START}, which starts the program: python3 -u ./main.py")
    with (source / START).open("rb") as file:
        content = file.read(_MOST_SCRIPT_BYTES)
    if b"\r" in content:
        raise BuildRefusal(
            f"{START} has the line ends of Windows (CRLF), which bash cannot read",
            fix=f"convert it: sed -i 's/\\r$//' {START}",
        )
    return content.decode("utf-8", "replace")
