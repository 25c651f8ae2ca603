"""Pushes that no git client makes: each is rejected, changes nothing, and the site keeps working."""

from __future__ import annotations

import hashlib
import http.client
import struct
import subprocess
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from core.models import Event
from repositories.ref_rules import NULL_OBJECT


class Site(Protocol):
    """`Arena` of the conftest."""

    repositories: Path

    def url(self, token: str, place: str = "owls/model") -> str: ...
    def start_push(self, token: str, length: int) -> http.client.HTTPConnection: ...
    def settled(self) -> list[str]: ...


class WorkingCopy(Protocol):
    """`Copy` of the conftest."""

    folder: Path

    def git(self, *words: str) -> str: ...
    def commit(self, files: dict[str, str | bytes], message: str = "work") -> str: ...


EMPTY_PACK = struct.pack(">4sII", b"PACK", 2, 0)
EMPTY_PACK += hashlib.sha1(EMPTY_PACK, usedforsecurity=False).digest()


@dataclass(frozen=True)
class Known:
    """Commits on the site: `head` under refs/heads/main and refs/tags/submission-1, and its parent."""

    head: str
    before: str


Command = tuple[str, str, str]
Commands = Callable[[Known], Sequence[Command]]


def create(*refs: str) -> Commands:
    return lambda known: [(NULL_OBJECT, known.head, ref) for ref in refs]


def branches(count: int) -> Commands:
    return create(*(f"refs/heads/{number:032}" for number in range(count)))


HOSTILE: dict[str, tuple[Commands, str]] = {
    "more refs than one push may change": (
        branches(51),
        "this push changes 51 branches and tags; at most 50",
    ),
    "more refs than its hook can tell": (
        branches(50_000),
        "this push changes too many branches and tags",
    ),
    "more deletions than one push may have": (
        lambda known: [(known.head, NULL_OBJECT, f"refs/heads/{number}") for number in range(51)],
        "this push changes 51 branches and tags; at most 50",
    ),
    "names that nest deeply": (create("refs/heads/" + "/".join("a" * 90)), "has 90 parts; at most 10 are allowed"),
    "a tag of a submission as if it were new": (
        lambda known: [(NULL_OBJECT, known.before, "refs/tags/submission-1")],
        "the tag submission-1 exists already",
    ),
    "the same tag on the same commit as if it were new": (
        create("refs/tags/submission-1"),
        "the tag submission-1 exists already",
    ),
    "the deletion of a submission as if it had never been": (
        lambda known: [(NULL_OBJECT, NULL_OBJECT, "refs/tags/submission-1")],
        "the tag submission-1 is neither created nor deleted by this push",
    ),
    "a branch from where it is not": (
        lambda known: [(known.before, known.before, "refs/heads/main")],
        "the branch main has changed since your last fetch",
    ),
    "one branch twice": (create("refs/heads/twice", "refs/heads/twice"), "this push changes refs/heads/twice 2 times"),
    "a branch below another": (create("refs/heads/main/below"), "the branch main/below is below another branch or tag"),
    "a tag of a submission above another": (
        create("refs/tags/submission-2", "refs/tags/submission-2/more"),
        "this push has 2 submission tags",
    ),
    "a branch above another of the same push": (
        create("refs/heads/one/two", "refs/heads/one"),
        "the branch one/two is below another branch or tag",
    ),
    "a name that leads out": (create("refs/heads/../../outside"), "ref name ../../outside is not allowed"),
    "a name that leads to another folder": (create("refs/heads/a/../b"), "git does not accept the ref name a/../b"),
    "a submission in a file that git locks": (
        create("refs/tags/submission-2.lock"),
        "git does not accept the ref name submission-2.lock",
    ),
    "a name that ends with a dot": (create("refs/heads/end."), "git does not accept the ref name end."),
    "the HEAD": (create("HEAD"), "HEAD is neither a branch nor a tag"),
    "a ref of git's own": (create("refs/replace/x"), "refs/replace/x is neither a branch nor a tag"),
    "notes": (create("refs/notes/commits"), "refs/notes/commits is neither a branch nor a tag"),
    "an option as a ref": (create("-x"), "-x is neither a branch nor a tag"),
    "an object that is nowhere": (
        lambda known: [(NULL_OBJECT, "1" * 40, "refs/heads/nowhere")],
        "ng refs/heads/nowhere missing necessary objects",
    ),
}


def push(arena: Site, token: str, commands: Sequence[Command], pack: bytes = EMPTY_PACK) -> str:
    """Push by hand; return the answer of the site: git's report and the hooks' output."""
    lines = [f"{old} {new} {ref}".encode() for old, new, ref in commands]
    lines[0] += b"\0report-status side-band-64k"
    whole = b"".join(b"%04x" % (len(line) + 4) + line for line in lines) + b"0000" + pack
    with closing(arena.start_push(token, len(whole))) as connection:
        connection.send(whole)
        return _unpacked(connection.getresponse().read())


def _unpacked(answer: bytes) -> str:
    said = b""
    while answer:
        size = max(int(answer[:4], 16), 4)
        said, answer = said + answer[5:size], answer[size:]
    return said.decode(errors="replace")


@pytest.fixture
def known(arena: Site, copy: WorkingCopy, token: str) -> Known:
    """The Owls' repository with two commits and a submission."""
    before = copy.git("rev-parse", "HEAD")
    head = copy.commit({"more.py": "1\n"})
    copy.git("push", arena.url(token), "main", "main:refs/tags/submission-1")
    return Known(head, before)


def stored(repository: Path) -> tuple[str, set[str]]:
    """Return the refs and the files of a repository, except packs."""
    refs = subprocess.check_output(["git", "--git-dir", str(repository), "show-ref", "--head"], text=True)
    files = {str(each.relative_to(repository)) for each in repository.rglob("*")}
    return refs, {each for each in files if "pack/" not in each}


def test_it_rejects_hostile_pushes(arena: Site, copy: WorkingCopy, token: str, known: Known, tmp_path: Path) -> None:
    (repository,) = arena.repositories.glob("*.git")
    before = stored(repository)
    for name, (commands, words) in HOSTILE.items():
        asked = Event.objects.filter(verb="asked").count()
        pack = b"" if all(new == NULL_OBJECT for _, new, _ in commands(known)) else EMPTY_PACK
        said = push(arena, token, commands(known), pack)
        assert words in said, f"{name}: {said[:2000]}"
        assert arena.settled() == [], name
        assert stored(repository) == before, name
        assert Event.objects.filter(verb="pushed").count() == 1, name
        reached_gate = Event.objects.filter(verb="asked").count() > asked  # which reserves slots
        assert not (reached_gate and "Gauntlet: refused" in said), name
    copy.git("clone", arena.url(token), str(tmp_path / "clone"))


def test_it_rejects_more_refs_than_allowed_until_some_are_deleted(
    arena: Site, copy: WorkingCopy, token: str, known: Known
) -> None:
    said = push(arena, token, branches(40)(known))
    assert "unpack ok" in said, said
    fresh = [(NULL_OBJECT, known.head, f"refs/tags/v{number}") for number in range(19)]
    assert "the repository would have 61 branches and tags; at most 60 are allowed" in push(arena, token, fresh)
    delete = [(known.head, NULL_OBJECT, f"refs/heads/{number:032}") for number in range(10)]
    assert "Accepted." in push(arena, token, delete, b"")
    assert "Accepted." in push(arena, token, fresh)
    assert len(copy.git("ls-remote", "--refs", arena.url(token)).splitlines()) == 51


def test_many_refs_are_stored_in_few_files(arena: Site, copy: WorkingCopy, token: str, known: Known) -> None:
    push(arena, token, branches(40)(known))
    (repository,) = arena.repositories.glob("*.git")
    assert [each for each in (repository / "refs").rglob("*") if each.is_file()] == []
    assert not (repository / "logs").exists()
    assert len(copy.git("ls-remote", "--refs", arena.url(token)).splitlines()) == 42


def test_old_ref_logs_are_removed_by_the_next_push(arena: Site, copy: WorkingCopy, token: str, known: Known) -> None:
    (repository,) = arena.repositories.glob("*.git")
    own = ["git", "--git-dir", str(repository), "-c", "core.logAllRefUpdates=true"]
    subprocess.run([*own, "update-ref", "-m", "x", "refs/heads/logged", known.head], check=True)
    assert (repository / "logs").exists()
    copy.git("push", arena.url(token), "main:again")
    assert not (repository / "logs").exists()
