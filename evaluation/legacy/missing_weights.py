"""Weights that a repository names and does not hold."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from evaluation.builder.allowed_submission_files import TreeEntry
from evaluation.domain.errors import BuildRefusal

_POINTER = b"version https://git-lfs.github.com/spec/v1"


def require_weights(source: Path, entries: Collection[TreeEntry], paths: Collection[str]) -> None:
    """Raise `BuildRefusal` for a Git LFS pointer, and for a checkpoint of TensorFlow whose data are missing."""
    for entry in entries:
        if entry.link is None and _is_pointer(source / entry.path):
            raise BuildRefusal(
                f"{entry.path}: a Git LFS pointer, without the file that it stands for",
                fix="run `git lfs pull` in the repository; weights that their host no longer has cannot be run",
            )
    with_data = {path.rpartition(".data-")[0] for path in paths}
    for path in sorted(paths):
        stem = path.removesuffix(".index")
        if stem != path and ".ckpt" in stem and stem not in with_data:
            raise BuildRefusal(
                f"{path}: the weights beside it, {PurePosixPath(stem).name}.data-..., are not in the repository",
                fix="add them; weights that nobody has any more cannot be run",
            )


def _is_pointer(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_POINTER)) == _POINTER
