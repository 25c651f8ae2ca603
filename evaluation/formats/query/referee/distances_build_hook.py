"""Build hook: compiles the distances of the referee where there is a C compiler; they work without it, more slowly."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FOLDER = Path("evaluation", "formats", "query", "referee")
SOURCE = _FOLDER / "distances.c"
LIBRARY = _FOLDER / "_distances.so"


def compile_distances(source: Path, library: Path) -> bool:
    """Compile `source` into `library`. Return False where this host has no working C compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return False
    unfinished = library.with_suffix(f".{os.getpid()}")
    command = [compiler, "-O3", "-shared", "-fPIC", "-o", str(unfinished), str(source)]
    if subprocess.run(command, check=False).returncode != 0:
        return False
    unfinished.replace(library)
    return True


class DistancesBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the library into a checkout that is installed in place; a wheel is without, for every platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" and not compile_distances(Path(self.root, SOURCE), Path(self.root, LIBRARY)):
            self.app.display_warning("no C compiler `cc`: the referee compares images with numpy alone")
