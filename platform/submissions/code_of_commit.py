"""Adapter: the files of a commit that checks of its code read, without its weights."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

from repositories.git_reader import GitReader, TreeFile
from submissions.build_plans import PLAIN_FILES

_MOST_BYTES = 256 << 10
"""A file larger than this is left to the build."""

_MOST_CODE_BYTES = 16 << 20
"""The same for all code: one push must not fill the disk of the web host."""

_POINTER_BYTES = 512
"""The most bytes of a Git LFS pointer, which stands where weights should be."""

_EXECUTABLE = "100755"


def write_code(files: Sequence[TreeFile], reader: GitReader, folder: Path, read: Collection[str]) -> None:
    """Write code, possible pointers and the files at the paths `read`; of all others, only their names matter."""
    code = 0
    for file in files:
        if file.mode not in PLAIN_FILES or ".." in PurePosixPath(file.path).parts:
            continue
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        wanted = file.path in read and file.size <= _MOST_BYTES
        if file.size <= _POINTER_BYTES or file.path.endswith((".py", ".sh")):
            fits = file.size <= min(_MOST_BYTES, _MOST_CODE_BYTES - code)
            wanted, code = wanted or fits, code + file.size * fits
        path.write_bytes(reader.content(file.object, _MOST_BYTES) if wanted else b"")
        if file.mode == _EXECUTABLE:
            path.chmod(0o755)
