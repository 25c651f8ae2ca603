"""Pushes of trees that no git client makes, with names and modes that file systems read in different ways."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pytest

from core.models import Event


class Site(Protocol):
    """`Arena` of the conftest."""

    def url(self, token: str, place: str = "owls/model") -> str: ...
    def settled(self) -> list[str]: ...


class WorkingCopy(Protocol):
    """`Copy` of the conftest."""

    folder: Path

    def git(self, *words: str) -> str: ...
    def ask(self, *words: str) -> tuple[int, str]: ...


FILE, FOLDER, LINK, ODD = b"100644", b"40000", b"120000", b"170000"

Entry = tuple[bytes, bytes, bytes]
"""Mode, name, and content, of a file or (for a folder) of the file `inner`."""

BY_FSCK: dict[str, tuple[Sequence[Entry], str]] = {
    "the repository's folder": ([(FOLDER, b".git", b"x")], "hasDotgit"),
    "the same on Windows": ([(FOLDER, b"GIT~1", b"x")], "hasDotgit"),
    "the same with a space": ([(FOLDER, b".GIT ", b"x")], "hasDotgit"),
    "the parent folder": ([(FOLDER, b"..", b"x")], "hasDotdot"),
    "the folder itself": ([(FOLDER, b".", b"x")], "hasDot"),
    "a path as a name": ([(FILE, b"a/b", b"x")], "fullPathname"),
    "one name twice": ([(FILE, b"a", b"x"), (FILE, b"a", b"y")], "duplicateEntries"),
    "a file and a folder of one name": ([(FILE, b"a", b"x"), (FOLDER, b"a", b"y")], "duplicateEntries"),
    "names out of order": ([(FILE, b"b", b"x"), (FILE, b"a", b"y")], "treeNotSorted"),
    "modules in a link": ([(LINK, b".gitmodules", b"a")], "gitmodulesSymlink"),
}
BY_GATE: dict[str, tuple[Sequence[Entry], str]] = {
    "a line break": ([(FILE, b"a\nb", b"x")], "has control characters"),
    "an escape sequence": ([(FILE, b"a\x1b[2Jb", b"x")], "has control characters"),
    "a change of direction": ([(FILE, "a\u202eyp.b".encode(), b"x")], "has control characters"),
    "bytes that are no text": ([(FILE, b"a\xff", b"x")], "is not UTF-8"),
    "a very long name": ([(FILE, b"n" * 300, b"x")], "has a name of 300 bytes"),
    "modules of a transport": (
        [(FILE, b".gitmodules", b'[submodule "a"]\n\tpath = a\n\turl = https://a.example/a\n')],
        ".gitmodules: submodules are not allowed",
    ),
    "an absolute link": ([(LINK, b"a", b"/etc/passwd")], "leads out of the repository"),
    "a link out": ([(LINK, b"a", b"b/../../..")], "leads out of the repository"),
    "a link to nothing": ([(LINK, b"a", b"")], "the link a to '' cannot be checked out"),
    "a link out before a NUL": ([(LINK, b"a", b"..\0b")], r"the link a to '..\x00b' cannot be checked out"),
    "a link through a folder that is left out": ([(LINK, b"a", b"__pycache__/../../x")], "leads out of the repository"),
}


def store(copy: WorkingCopy, kind: str, content: bytes) -> bytes:
    command = ["git", "hash-object", "-w", "-t", kind, "--literally", "--stdin"]
    done = subprocess.run(command, cwd=copy.folder, input=content, capture_output=True, check=True)
    return bytes.fromhex(done.stdout.decode().strip())


def tree(copy: WorkingCopy, entries: Sequence[Entry]) -> bytes:
    rows = b""
    for mode, name, content in entries:
        found = tree(copy, [(FILE, b"inner", content)]) if mode == FOLDER else store(copy, "blob", content)
        rows += mode + b" " + name + b"\0" + found
    return store(copy, "tree", rows)


def pushed(arena: Site, copy: WorkingCopy, token: str, entries: Sequence[Entry]) -> str:
    """Return what the site says to a push of a commit of this tree."""
    before = copy.git("ls-remote", arena.url(token))
    commit = copy.git("commit-tree", "-m", "hostile", tree(copy, entries).hex())
    status, said = copy.ask("push", arena.url(token), f"{commit}:refs/heads/hostile")
    assert status == 1, said
    assert copy.git("ls-remote", arena.url(token)) == before
    assert arena.settled() == []
    return said


@pytest.mark.parametrize("name", BY_FSCK)
def test_git_rejects_names_of_its_own(arena: Site, copy: WorkingCopy, token: str, name: str) -> None:
    entries, words = BY_FSCK[name]
    said = pushed(arena, copy, token, entries)
    assert words in said
    assert not Event.objects.filter(verb="asked").exists()


@pytest.mark.parametrize("name", BY_GATE)
def test_the_gate_rejects_names_and_says_what_to_do(arena: Site, copy: WorkingCopy, token: str, name: str) -> None:
    entries, words = BY_GATE[name]
    said = pushed(arena, copy, token, entries)
    assert words in said
    assert "fix: " in said
    assert Event.objects.filter(verb="pushed").count() == 0


def test_an_entry_of_an_unknown_mode_is_no_file(arena: Site, copy: WorkingCopy, token: str) -> None:
    said = pushed(arena, copy, token, [(ODD, b"a", b"x")])
    assert "badFilemode" in said or "submodules are not allowed" in said


def test_a_message_with_a_nul_is_rejected(arena: Site, copy: WorkingCopy, token: str) -> None:
    head = copy.git("cat-file", "commit", "HEAD").encode()
    commit = store(copy, "commit", head + b"\n\0hidden\n").hex()
    status, said = copy.ask("push", arena.url(token), f"{commit}:refs/heads/hostile")
    assert (status, "nulInCommit" in said) == (1, True), said
