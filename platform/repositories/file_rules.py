"""Rules on the files of a submission. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.conf import settings

from core.errors import Refusal
from repositories.git_reader import TreeFile

LFS_POINTER = b"version https://git-lfs"
MAX_POINTER_BYTES = 1024
MAX_LINK_BYTES = 4095
WHITEOUT = ".wh."
"""The start of names that layers of images read as the deletion of another file; builds cannot store them."""
MAX_PART_BYTES = 255
"""Limit of file systems for one name in a path."""
MAX_PATH_BYTES = 3072
"""Kernels allow 4,096 with the folder of the checkout, or of the image, in front."""
MAX_LINKS = 100
MAX_LINK_STEPS = 256
"""Limit of names on the path of one link, with the links that it leads through: bounds the cost of a push."""

SUBMODULE, LINK = "160000", "120000"


@dataclass(frozen=True)
class Limits:
    """Maximum size of one file and of all files in total, in bytes, and maximum number of files."""

    file_bytes: int
    files: int
    total_bytes: int


class Contents(Protocol):
    """Reader of the first bytes of an object, as `GitReader`."""

    def content(self, name: str, limit: int) -> bytes:
        """Return the first `limit` bytes of the object `name`."""


def limits_in_force() -> Limits:
    """Return the limits of this site."""
    return Limits(file_bytes=settings.MAX_FILE_BYTES, files=settings.MAX_FILES, total_bytes=settings.MAX_CHECKOUT_BYTES)


def check_files(files: Sequence[TreeFile], contents: Contents, limits: Limits | None = None) -> None:
    """Raise `Refusal` for the first file that is not allowed; `limits` default to the site's."""
    allowed = limits or limits_in_force()
    if len(files) > allowed.files:
        raise Refusal(
            f"the commit has {len(files):,} files; at most {allowed.files:,} are allowed",
            fix="commit only what your player needs when it runs",
        )
    check_total_size(files, allowed.total_bytes)
    if (number := sum(file.mode == LINK for file in files)) > MAX_LINKS:
        raise Refusal(
            f"the commit has {number:,} symbolic links; at most {MAX_LINKS} are allowed",
            fix="commit the files themselves, or link to folders",
        )
    links: dict[str, str] = {}
    for file in files:
        _check_name(file)
        _check_kind(file)
        if file.size > allowed.file_bytes:
            raise Refusal(
                f"{file.path} has {_mebibytes(file.size)}; a file may have at most {_mebibytes(allowed.file_bytes)}",
                fix="make it smaller (half-precision weights, or several files) and amend the commit",
            )
        if file.mode == LINK:
            links[file.path] = _target(file, contents)
        elif file.size <= MAX_POINTER_BYTES:
            _check_pointer(file, contents, allowed)
    for path in links:
        _check_link(path, links)


def check_total_size(files: Sequence[TreeFile], most: int) -> None:
    """Raise `Refusal` if the checked-out files exceed `most` bytes in total, however small git stores them."""
    if (total := checkout_bytes(files)) > most:
        raise Refusal(
            f"the files have {_mebibytes(total)} in total when checked out; at most {_mebibytes(most)} are allowed",
            fix="commit only what your player needs when it runs",
        )


def checkout_bytes(files: Sequence[TreeFile]) -> int:
    """Return the size of `files` when checked out; a repeated file counts each time."""
    return sum(file.size for file in files)


def _check_name(file: TreeFile) -> None:
    if not file.path.isprintable():
        raise Refusal(f"the name {file.path!a} has control characters or is not UTF-8", fix="rename the file: git mv")
    if any(part.startswith(WHITEOUT) for part in file.path.split("/")):
        raise Refusal(f"{file.path}: no name may begin with {WHITEOUT}", fix="rename it: git mv")
    _check_parts(f"the path {file.path[:80]}...", file.path, fix="use shorter names: git mv")
    if (size := len(os.fsencode(file.path))) > MAX_PATH_BYTES:
        raise Refusal(
            f"the path {file.path[:80]}... has {size:,} bytes; at most {MAX_PATH_BYTES:,} are allowed",
            fix="use fewer nested folders or shorter names: git mv",
        )


def _check_parts(what: str, path: str, *, fix: str) -> None:
    longest = max(len(os.fsencode(part)) for part in path.split("/"))
    if longest > MAX_PART_BYTES:
        raise Refusal(f"{what} has a name of {longest:,} bytes; at most {MAX_PART_BYTES} are allowed", fix=fix)


def _check_kind(file: TreeFile) -> None:
    if file.mode == SUBMODULE or file.path == ".gitmodules":
        raise Refusal(
            f"{file.path}: submodules are not allowed, because their content is in another repository",
            fix="commit the files themselves: git rm --cached the submodule and .gitmodules, then git add its files",
        )


def _target(link: TreeFile, contents: Contents) -> str:
    if link.size > MAX_LINK_BYTES:
        raise Refusal(
            f"the link {link.path} has a target of {link.size:,} bytes; at most {MAX_LINK_BYTES:,} are allowed",
            fix="commit the file itself",
        )
    target = contents.content(link.object, MAX_LINK_BYTES).decode(errors="surrogateescape")
    if not target or "\0" in target:  # git makes no link of it, or one to what comes before
        raise Refusal(
            f"the link {link.path} to {target!a} cannot be checked out: a target is not empty and has no NUL character",
            fix="commit the file itself, or make the link again",
        )
    _check_parts(f"the target of the link {link.path}", target, fix="commit the file itself, or shorten its name")
    return target


def _check_link(path: str, links: Mapping[str, str]) -> None:
    """Resolve a link as a file system does: links on the path are followed before a ".." after them."""
    at, ahead, steps = path.split("/")[:-1], links[path].split("/")[::-1], 0
    outside = links[path].startswith("/")
    while ahead and not outside:
        steps += 1
        if steps + len(ahead) > MAX_LINK_STEPS:
            raise Refusal(
                f"the link {path} to {links[path]!a} passes more than {MAX_LINK_STEPS} names, or is circular",
                fix="commit the file itself, or link to it directly",
            )
        name = ahead.pop()
        if name == "..":
            outside = not at
            at = at[:-1]
        elif name not in ("", "."):
            at.append(name)
            if (target := links.get("/".join(at))) is not None:
                at.pop()
                ahead += target.split("/")[::-1]
                outside = target.startswith("/")
    if outside:
        raise Refusal(
            f"the link {path} leads out of the repository, to {links[path]!a}",
            fix="commit the file itself, or link to one inside the repository",
        )


def _check_pointer(file: TreeFile, contents: Contents, limits: Limits) -> None:
    if contents.content(file.object, MAX_POINTER_BYTES).startswith(LFS_POINTER):
        raise Refusal(
            f"{file.path} is a Git LFS pointer; Git LFS is not supported",
            fix=f"commit the file itself, at most {_mebibytes(limits.file_bytes)}: git lfs untrack, git add",
        )


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB".replace(".0 MiB", " MiB")
