"""Read a bare repository: its refs, commits and files, and set a tag of the site's own."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from django.conf import settings
from git.cmd import Git

from core.errors import Fault, Refusal
from repositories.git_command import COMMAND, answer_of, environment, git, in_repository
from repositories.push_gate import NOTHING

LISTING_SECONDS = 10.0
"""For listing the files of a commit: a few kilobytes can hold a tree of billions of paths. For refs, too."""

SHOWN_CHARACTERS = 200

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,249}")
LINE = re.compile(rb"(?P<mode>\d{6}) \w+ (?P<object>[0-9a-f]{40}) +(?P<size>\d+|-)\t(?P<path>.*)", re.DOTALL)

LAST_MOMENT = 253402300799
"""The last second of the year 9999."""


@dataclass(frozen=True)
class TreeFile:
    """A file of a commit. `path` holds bytes that are no UTF-8 as lone surrogates; `size` is in bytes.

    `mode` is "100644", "100755" (executable), "120000" (symbolic link) or "160000" (submodule, of size 0).
    """

    path: str
    mode: str
    size: int
    object: str


@dataclass(frozen=True)
class CommitInfo:
    """What people recognise a commit by."""

    sha: str
    subject: str
    author: str
    at: datetime


class GitReader:
    """Reads the bare repository at `path`; `environment` lets it see objects in quarantine (`Push.environment`).

    For one thread. `close` it, or use it in a `with`: it may keep a git process at hand.
    """

    def __init__(self, path: Path, environment: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._extra = dict(environment or {})
        self._objects: Git | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End what was kept at hand."""
        if self._objects is not None:
            self._objects.clear_cache()
            self._objects = None

    def resolve(self, ref: str) -> str | None:
        """The commit that `ref` stands for: a branch, a tag, "refs/..." or a commit in hexadecimal, or None."""
        if not NAME.fullmatch(ref):
            return None
        try:
            return self._header(f"{ref}^{{commit}}")[0]
        except ValueError:
            return None

    def files(self, commit: str, at_most: int | None = None) -> list[TreeFile]:
        """Every file of `commit`, in git's order.

        Raises `Refusal` for more than `at_most` (as set for the site) and for a tree that takes too long to list.
        """
        limit = at_most or settings.MAX_FILES
        found: list[TreeFile] = []
        for line in self._listed(commit):
            if len(found) == limit:
                raise Refusal(
                    f"commit {commit[:12]} has more than {limit:,} files",
                    fix="commit only what your player needs when it runs",
                )
            found.append(_tree_file(line))
        return found

    def content(self, name: str, limit: int) -> bytes:
        """The first `limit` bytes of the file whose object is `name`; raises `Fault` where it is missing."""
        try:
            _, kind, size = self._header(name)
            if kind != "blob":
                raise Fault(f"object {name} in {self._path} is a {kind}, not a file")
            if size <= limit:
                return self._at_hand().get_object_data(name)[3]
        except ValueError as error:
            raise Fault(f"object {name} in {self._path} cannot be read: {error}") from error
        with self._started("cat-file", "blob", name) as output:
            return output.read(limit)

    def refs(self, *, seconds: float = LISTING_SECONDS) -> Mapping[str, str]:
        """Branches and tags ("refs/heads/main"), each with the object it points to.

        Raises `TookTooLongError` past `seconds`.
        """
        listed = ("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
        lines = self._text(*listed, seconds=seconds).splitlines()
        return {name: at for at, name in (line.split(" ", 1) for line in lines)}

    def recent(self, limit: int, *, seconds: float = LISTING_SECONDS) -> list[CommitInfo]:
        """The newest commits of all branches and tags, newest first; raises `TookTooLongError` past `seconds`.

        Only so much of the history is read as it takes, and of a line as much as a page shows.
        """
        shape = f"--format=%H%x00%<({SHOWN_CHARACTERS},trunc)%s%x00%<({SHOWN_CHARACTERS},trunc)%an%x00%ct%x00"
        which = ("--branches", "--tags", f"--max-count={limit}")
        told = self._text("log", "-z", "--encoding=UTF-8", "--no-show-signature", shape, *which, seconds=seconds)
        parts = told.split("\0")
        return [
            CommitInfo(sha=sha, subject=subject.rstrip(), author=author.rstrip(), at=_moment(at))
            for sha, subject, author, at in zip(parts[::5], parts[1::5], parts[2::5], parts[3::5], strict=False)
        ]

    def make_tag(self, name: str, commit: str) -> bool:
        """Set the tag `name` on `commit` for the site itself. False where the name is taken: a tag never moves."""
        if not NAME.fullmatch(name):
            raise Fault(f"{name!r} is no name of a tag")
        ref = f"refs/tags/{name}"
        try:
            git(self._path, "update-ref", ref, commit, NOTHING)
        except Fault:
            if ref in self.refs():
                return False
            raise
        return True

    def _listed(self, commit: str) -> Iterator[bytes]:
        rest = b""
        with self._started("ls-tree", "-r", "-l", "-z", "--full-tree", commit) as output:
            while block := output.read1(1 << 16):
                *lines, rest = (rest + block).split(b"\0")
                yield from lines

    def _started(self, *arguments: str) -> _Started:
        return _Started(self._path, arguments, self._variables())

    def _text(self, *arguments: str, seconds: float) -> str:
        return answer_of(self._path, *arguments, seconds=seconds, extra=self._extra).decode(errors="replace")

    def _header(self, name: str) -> tuple[str, str, int]:
        # GitPython says that these are texts, and gives bytes
        sha, kind, size = cast("tuple[bytes, bytes, int]", self._at_hand().get_object_header(name))
        return sha.decode(), kind.decode(), size

    def _at_hand(self) -> Git:
        if self._objects is None:
            self._objects = Git(self._path)
            self._objects.update_environment(**self._variables())
        return self._objects

    def _variables(self) -> dict[str, str]:
        return environment(in_repository(self._path, self._extra))


class _Started:
    """A git process whose output is read as it comes; it is ended when the `with` is left, or when its time is up."""

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
        whole = kind is None and not self._output.peek(1)
        if not whole:
            self._process.kill()
        self._output.close()
        status = self._process.wait()
        if whole and status < 0:
            raise Refusal("this commit's files cannot be listed: too many folders", fix="commit fewer and flatter ones")
        if whole and status > 0:
            raise Fault(f"git {' '.join(self._arguments)} ended with status {status}")


def _tree_file(line: bytes) -> TreeFile:
    found = LINE.fullmatch(line)
    if found is None:
        raise Fault(f"git listed a file in an unknown way: {line!r}")
    size = found["size"]
    return TreeFile(
        path=found["path"].decode(errors="surrogateescape"),
        mode=found["mode"].decode(),
        size=0 if size == b"-" else int(size),
        object=found["object"].decode(),
    )


def _moment(seconds: str) -> datetime:
    """A commit says of itself when it was made, and may say anything."""
    return datetime.fromtimestamp(min(max(int(seconds), 0), LAST_MOMENT), UTC)
