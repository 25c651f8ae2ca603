"""Files of a submission: which belong to it, and which are not allowed."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from evaluation.domain.errors import BuildRefusal, HostRefusal
from evaluation.domain.limit_use import LimitUse, Unit

IGNORED_NAMES = frozenset({".git", "__pycache__"})
"""Names that are never part of a submission, at any depth: they change without a change of the commit."""

BINDER_DIRECTORIES = ("binder", ".binder")
"""Directories where repo2docker looks for configuration files first."""


DEFAULT_CHECKOUT_BYTES = 2 << 30
"""The limit on the sum of all files of a submission, if `GAUNTLET_MAX_CHECKOUT_BYTES` does not set another one."""

DEFAULT_FILE_BYTES = 256 << 20
"""The limit on one file of a submission, if `GAUNTLET_MAX_FILE_BYTES` does not set another one."""

WHITEOUT = ".wh."
"""The start of names that layers of images read as the deletion of another file; builds cannot store them."""

DEFAULT_FILES = 10_000
"""The limit on the number of files of a submission, if `GAUNTLET_MAX_FILES` does not set another one."""

_ENVIRONMENT_FILE = "pyvenv.cfg"
"""What each virtual environment has at its top."""

LFS_POINTER = b"version https://git-lfs"
MAX_POINTER_BYTES = 1024

MAX_LINKS = 100
"""The limit on symbolic links: following each costs time in a push."""


@dataclass(frozen=True)
class TreeEntry:
    """One file or symbolic link: its path in the tree, and the attributes that git keeps."""

    path: PurePosixPath
    executable: bool = False
    link: str | None = None
    """The target of a symbolic link, as written; None for a plain file."""


def tree_entries(source: Path) -> list[TreeEntry]:
    """Return every file and link below `source`, sorted by path bytes. Raise `BuildRefusal` for a path not allowed.

    Directories count only through what they hold, as in git. What git ignores in a working copy is no part of it.
    """
    if not source.is_dir():
        raise BuildRefusal(f"{source} is not a directory", fix="give the directory that holds submission.toml")
    if os.path.lexists(source / ".gitmodules"):
        raise BuildRefusal(
            ".gitmodules: submodules are not supported", fix="copy what the submission needs into the repository"
        )
    try:
        return sorted(_walk(source), key=lambda entry: os.fsencode(entry.path))
    except PermissionError as error:
        raise BuildRefusal(f"{error.filename}: not readable", fix="make it readable") from error


def _walk(source: Path) -> Iterator[TreeEntry]:
    root, ignored = source.resolve(), ignored_by_git(source)
    # an explicit stack: a hostile tree may be deeper than Python's recursion limit
    waiting = [PurePosixPath()]
    while waiting:
        below = waiting.pop()
        with os.scandir(source / below) as found:
            for item in found:
                path = below / item.name
                if item.name in IGNORED_NAMES or path in ignored:
                    continue
                if item.name.startswith(WHITEOUT):
                    raise BuildRefusal(f"{path}: no name may begin with {WHITEOUT}", fix="rename it")
                if item.is_symlink():
                    yield TreeEntry(path, link=_link_inside(Path(item.path), root, path))
                elif item.is_dir(follow_symlinks=False):
                    waiting.append(path)
                else:
                    yield _plain_file(item, path)


def _link_inside(link: Path, root: Path, path: PurePosixPath) -> str:
    target = os.readlink(link)  # noqa: PTH115 - as written: Path would normalise it
    fix = "use a relative link to a file of the repository, or a copy of the file"
    for folder in path.parents[:-1]:
        if target.startswith("/") and (root / folder / _ENVIRONMENT_FILE).is_file():
            raise BuildRefusal(
                f"{folder}: a virtual environment is no part of a submission",
                fix=f"move it out of the directory, or `git init` and add {folder}/ to .gitignore",
            )
    if target.startswith("/"):
        raise BuildRefusal(f"{path}: the symbolic link is absolute ({target})", fix=fix)
    # resolve every link on the path, like the kernel
    try:
        reached = (link.parent / target).resolve()
    except (OSError, RuntimeError) as error:
        raise BuildRefusal(f"{path}: the symbolic link cannot be followed", fix=fix) from error
    if not reached.is_relative_to(root):
        raise BuildRefusal(f"{path}: the symbolic link leaves the repository ({target})", fix=fix)
    return target


def _plain_file(item: os.DirEntry[str], path: PurePosixPath) -> TreeEntry:
    mode = item.stat(follow_symlinks=False).st_mode
    if not stat.S_ISREG(mode):
        raise BuildRefusal(f"{path}: is a {_kind(mode)}", fix="only plain files, directories and links are allowed")
    if not os.access(item.path, os.R_OK):
        raise BuildRefusal(f"{path}: not readable", fix="make the file readable")
    return TreeEntry(path, executable=bool(mode & stat.S_IXUSR))


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "fifo"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"), (stat.S_ISBLK, "device"))
    return next((name for matches, name in kinds if matches(mode)), "special file")


def check_tree_size(source: Path) -> LimitUse:
    """Return the size of the files below `source`, beside the limit of the site.

    Raise `BuildRefusal` if there are more files or links, or more bytes in all or in one, than the site accepts, and
    for what its push gate refuses besides: pointers of Git LFS, and names with control characters.

    Raise `HostRefusal` if `GAUNTLET_MAX_CHECKOUT_BYTES`, `GAUNTLET_MAX_FILE_BYTES` or `GAUNTLET_MAX_FILES` is no
    number.
    """
    most = _setting("GAUNTLET_MAX_CHECKOUT_BYTES", DEFAULT_CHECKOUT_BYTES)
    most_of_file = _setting("GAUNTLET_MAX_FILE_BYTES", DEFAULT_FILE_BYTES)
    most_files = _setting("GAUNTLET_MAX_FILES", DEFAULT_FILES)
    entries = tree_entries(source)
    if len(entries) > most_files:
        raise BuildRefusal(
            f"the directory has {len(entries):,} files; at most {most_files:,} are allowed",
            fix="keep only what your player needs when it runs, or list the others in .gitignore",
        )
    sizes = {entry.path: (source / entry.path).lstat().st_size for entry in entries}
    for path, size in sizes.items():
        if size > most_of_file:
            raise BuildRefusal(
                f"{path} has {_mebibytes(size)}; a file may have at most {_mebibytes(most_of_file)}",
                fix="make it smaller (half-precision weights, or several files)",
            )
        if not str(path).isprintable():
            raise BuildRefusal(f"the name {str(path)!a} has control characters or is not UTF-8", fix="rename the file")
        if size <= MAX_POINTER_BYTES and _is_pointer(source / path):
            raise BuildRefusal(
                f"{path} is a Git LFS pointer; Git LFS is not supported",
                fix=f"use the file itself, at most {_mebibytes(most_of_file)}: git lfs untrack, git lfs pull",
            )
    total = sum(sizes.values())
    if total > most:
        raise BuildRefusal(
            f"the files have {_mebibytes(total)} in total; at most {_mebibytes(most)} are allowed",
            fix="keep only what your player needs when it runs",
        )
    if (links := sum(entry.link is not None for entry in entries)) > MAX_LINKS:
        raise BuildRefusal(
            f"the directory has {links:,} symbolic links; at most {MAX_LINKS} are allowed",
            fix="use the files themselves, or links to folders",
        )
    return LimitUse("files of the repository", total, most, Unit.BYTES)


def _setting(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip() or str(default)
    try:
        return int(text)
    except ValueError as error:
        raise HostRefusal(f"{name}={text!r}: not a whole number", fix=f"correct {name}, or unset it") from error


def _is_pointer(path: Path) -> bool:
    return not path.is_symlink() and path.read_bytes().startswith(LFS_POINTER)


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"


def ignored_by_git(source: Path) -> frozenset[PurePosixPath]:
    """Return what git keeps out of the commits of a working copy: data, virtual environments; a folder is one path.

    No commit contains a `.git`, so that no submission on a site chooses this.
    """
    if not os.path.lexists(source / ".git"):
        return frozenset()
    # no program that a configuration in the directory names
    options = ("--others", "--ignored", "--exclude-standard", "--directory")
    command = ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", *options]
    try:
        done = subprocess.run(command, cwd=source, capture_output=True, check=False)
    except OSError:  # no git
        return frozenset()
    return frozenset(PurePosixPath(os.fsdecode(name)) for name in done.stdout.split(b"\0") if name)


def configuration_directory(source: Path) -> Path:
    """Return the directory of repo2docker's configuration files: `binder/`, `.binder/` or the top itself."""
    present = [source / name for name in BINDER_DIRECTORIES if (source / name).is_dir()]
    if len(present) == 2:
        raise BuildRefusal("the repository holds both binder/ and .binder/", fix="keep one of the two")
    return present[0] if present else source
