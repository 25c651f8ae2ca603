"""Reader of a bare repository: refs, commits and files; also sets tags for the site."""

from __future__ import annotations

import re
import resource
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TypeVar, cast

from django.conf import settings
from git.cmd import Git

from core.errors import Fault, Refusal
from evaluation.parsing.processor_time_meter import wait
from repositories.git_command import COMMAND, MAX_CPU_SECONDS, MAX_MEMORY_BYTES, environment, git, in_repository

LISTING_SECONDS = 10.0
"""Time limit for listing files or refs: a commit of a few kilobytes can hold a tree of billions of paths."""

MAX_FOLDER_BYTES = 3072
"""Limit of the path of a folder: git itself dies of very deep trees, also of such without any file."""

SHOWN_CHARACTERS = 200

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,249}")
_FOLDER = b"040000 "
LINE = re.compile(rb"(?P<mode>\d{6}) \w+ (?P<object>[0-9a-f]{40}) +(?P<size>\d+|-)\t(?P<path>.*)", re.DOTALL)

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""An object that git knows in every repository."""

_NO_ANSWER = "SHA is empty"
"""What GitPython says where git has ended."""

_Answer = TypeVar("_Answer", bound=tuple[object, ...])

LAST_MOMENT = 253402300799
"""The last second of the year 9999."""


@dataclass(frozen=True)
class TreeFile:
    """A file of a commit. `path` holds bytes that are not UTF-8 as lone surrogates; `size` is in bytes.

    `mode` is "100644", "100755" (executable), "120000" (symbolic link) or "160000" (submodule, of size 0).
    """

    path: str
    mode: str
    size: int
    object: str


@dataclass(frozen=True)
class CommitInfo:
    """Hash, subject, author and time of a commit."""

    sha: str
    subject: str
    author: str
    at: datetime


class GitReader:
    """Reader of the bare repository at `path`; with the `environment` of a pre-receive hook it also sees objects in
    quarantine.

    Not thread-safe. May keep a git process open: call `close`, or use it in a `with`.
    """

    def __init__(self, path: Path, environment: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._extra = dict(environment or {})
        self._objects = _Objects(path, self._variables())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the git processes that are kept open."""
        self._objects.close()

    def resolve(self, ref: str) -> str | None:
        """Return the commit of `ref` (a branch, a tag, "refs/..." or a hexadecimal commit); None if there is none."""
        if not NAME.fullmatch(ref):
            return None
        try:
            return self._objects.header(f"{ref}^{{commit}}").name
        except _MissingError:
            return None

    def files(self, commit: str, at_most: int | None = None) -> list[TreeFile]:
        """Return every file of `commit`, in git's order.

        Raise `Refusal` for more than `at_most` files or folders (default: the site's limit), for folders nested too
        deeply, and for a tree that takes too long to list.
        """
        limit = at_most or settings.MAX_FILES
        found: list[TreeFile] = []
        folders = 0
        for line in self._tree_lines(commit):
            if line.startswith(_FOLDER):
                folders += 1
                _check_folder(line.partition(b"\t")[2], folders, limit)
                continue
            if len(found) == limit:
                raise Refusal(
                    f"commit {commit[:12]} has more than {limit:,} files",
                    fix="commit only what your player needs when it runs",
                )
            found.append(_tree_file(line))
        return found

    def content(self, name: str, limit: int) -> bytes:
        """Return the first `limit` bytes of the blob `name`; raise `Fault` where it is missing."""
        try:
            header = self._objects.header(name)
            if header.kind != "blob":
                raise Fault(f"object {name} in {self._path} is a {header.kind}, not a file")
            if header.size <= limit:
                return self._objects.content(name)
        except _MissingError as error:
            raise Fault(f"object {name} in {self._path} cannot be read: {error}") from error
        with self._stream("cat-file", "blob", name) as output:
            return output.read(limit)

    def refs(self, *, seconds: float = LISTING_SECONDS) -> Mapping[str, str]:
        """Return branches and tags ("refs/heads/main"), each with the object it points to.

        Raise `GitTimeoutError` after `seconds`.
        """
        listed = ("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
        lines = self._text(*listed, seconds=seconds).splitlines()
        return {name: at for at, name in (line.split(" ", 1) for line in lines)}

    def recent(self, limit: int, *, seconds: float = LISTING_SECONDS) -> list[CommitInfo]:
        """Return the newest commits of all branches and tags, newest first; raise `GitTimeoutError` after `seconds`.

        Reads no more of the history than needed, and no more of a line than a page shows.
        """
        shape = f"--format=%H%x00%<({SHOWN_CHARACTERS},trunc)%s%x00%<({SHOWN_CHARACTERS},trunc)%an%x00%ct%x00"
        which = ("--branches", "--tags", f"--max-count={limit}")
        output = self._text("log", "-z", "--encoding=UTF-8", "--no-show-signature", shape, *which, seconds=seconds)
        parts = output.split("\0")
        return [
            CommitInfo(
                sha=sha,
                subject=subject.rstrip(),
                author=author.rstrip(),
                # clamped: the time of a commit may be any number
                at=datetime.fromtimestamp(min(max(int(at), 0), LAST_MOMENT), UTC),
            )
            for sha, subject, author, at in zip(parts[::5], parts[1::5], parts[2::5], parts[3::5], strict=False)
        ]

    def make_tag(self, name: str, commit: str) -> bool:
        """Set the tag `name` on `commit` for the site. Return False if it exists already: a tag never moves."""
        if not NAME.fullmatch(name):
            raise Fault(f"{name!r} is not a valid tag name")
        ref = f"refs/tags/{name}"
        try:
            git(self._path, "update-ref", ref, commit, "")  # "": the ref must not exist
        except Fault:
            if ref in self.refs():
                return False
            raise
        return True

    def _tree_lines(self, commit: str) -> Iterator[bytes]:
        rest = b""
        with self._stream("ls-tree", "-r", "-t", "-l", "-z", "--full-tree", commit) as output:
            while block := output.read1(1 << 16):
                *lines, rest = (rest + block).split(b"\0")
                yield from lines

    def _stream(self, *arguments: str) -> _GitStream:
        return _GitStream(self._path, arguments, self._variables())

    def _text(self, *arguments: str, seconds: float) -> str:
        return git(self._path, *arguments, seconds=seconds, extra=self._extra).decode(errors="replace")

    def _variables(self) -> dict[str, str]:
        return environment(in_repository(self._path, self._extra))


class _Header(NamedTuple):
    """What git tells of an object first."""

    name: str
    kind: str
    size: int


class _MissingError(Exception):
    """The repository has no such object."""


class _Objects:
    """GitPython's two git processes that tell of one object after another, under the limits of all git processes.

    GitPython starts them without limits, so each is first asked about an object that needs no repository.
    """

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._git = Git(folder)
        self._git.update_environment(**variables)

    def header(self, name: str) -> _Header:
        """Return what kind of object `name` is; raise `_MissingError`."""
        if self._git.cat_file_header is None:
            self._ask(self._git.get_object_header, _EMPTY_TREE)
            _limit(self._git.cat_file_header)
        return _header(self._ask(self._git.get_object_header, name))

    def content(self, name: str) -> bytes:
        """Return the whole object `name`; raise `_MissingError`."""
        if self._git.cat_file_all is None:
            self._ask(self._git.get_object_data, _EMPTY_TREE)
            _limit(self._git.cat_file_all)
        return self._ask(self._git.get_object_data, name)[3]

    def close(self) -> None:
        """End the processes and count their processor time. They start again with the next question."""
        for each in (self._git.cat_file_header, self._git.cat_file_all):
            if each is not None:
                process = _process_of(each)
                process.kill()
                wait(process)
        self._git.clear_cache()

    def _ask(self, ask: Callable[[str], _Answer], name: str) -> _Answer:
        try:
            return ask(name)
        except BrokenPipeError as error:
            raise Fault(f"git cat-file in {self._folder} has ended") from error
        except ValueError as error:
            if str(error).startswith(_NO_ANSWER):
                raise Fault(f"git cat-file in {self._folder} has ended") from error
            raise _MissingError(str(error)) from error  # git said "missing" or "ambiguous"
        except OSError as error:
            raise Fault(f"git cat-file in {self._folder}: {error}") from error


def _header(answer: tuple[object, ...]) -> _Header:
    # GitPython declares texts, and returns bytes
    name, kind, size = cast("tuple[bytes, bytes, int]", answer)
    return _Header(name.decode(), kind.decode(), size)


def _process_of(each: Git.AutoInterrupt) -> subprocess.Popen[bytes]:
    return cast("subprocess.Popen[bytes]", each.proc)


def _limit(each: Git.AutoInterrupt | None) -> None:
    process = _process_of(cast("Git.AutoInterrupt", each)).pid
    resource.prlimit(process, resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.prlimit(process, resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))


class _GitStream:
    """A git process whose output is read as a stream; killed when the `with` ends or the time limit is reached."""

    def __init__(self, folder: Path, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
        self._arguments = arguments
        self._process = subprocess.Popen(
            [*COMMAND, *arguments], cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._output = cast("BufferedReader", self._process.stdout)
        self._timer = threading.Timer(LISTING_SECONDS, self._process.kill)

    def __enter__(self) -> BufferedReader:
        self._timer.start()
        return self._output

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._timer.cancel()
        complete = kind is None and not self._output.peek(1)
        if not complete:
            self._process.kill()
        self._output.close()
        status = wait(self._process)
        if complete and status < 0:
            raise Refusal("the files of this commit cannot be listed: too many folders", fix="commit fewer folders")
        if complete and status > 0:
            raise Fault(f"git {' '.join(self._arguments)} ended with status {status}")


def _check_folder(path: bytes, number: int, limit: int) -> None:
    if len(path) > MAX_FOLDER_BYTES:
        raise Refusal(
            f"the folder {path[:80].decode(errors='replace')}... has a path of more than {MAX_FOLDER_BYTES:,} bytes",
            fix="use fewer nested folders or shorter names: git mv",
        )
    if number > limit:
        raise Refusal(f"the commit has more than {limit:,} folders", fix="commit fewer folders")


def _tree_file(line: bytes) -> TreeFile:
    found = LINE.fullmatch(line)
    if found is None:
        raise Fault(f"unexpected line in git's list of files: {line!r}")
    size = found["size"]
    return TreeFile(
        path=found["path"].decode(errors="surrogateescape"),
        mode=found["mode"].decode(),
        size=0 if size == b"-" else int(size),
        object=found["object"].decode(),
    )
