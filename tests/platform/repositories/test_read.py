"""GitReader: reads, tags of the site, and checkouts."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import pytest
from pytest_django import Settings

from competitions.models import Entry, Track
from core.errors import Fault, Refusal
from evaluation.domain.errors import HostFault
from evaluation.parsing.processor_time_meter import Meter
from repositories.checkout import check_out, require_space
from repositories.file_rules import checkout_bytes
from repositories.git_command import MAX_MEMORY_BYTES
from repositories.git_reader import GitReader
from repositories.services import repository_of


class WorkingCopy(Protocol):
    """`Copy` of the conftest."""

    folder: Path

    def git(self, *words: str) -> str: ...
    def commit(self, files: dict[str, str | bytes], message: str = "work") -> str: ...


@pytest.fixture
def bare(copy: WorkingCopy, entry: Entry, tracks: dict[str, Track]) -> Path:
    """The Owls' repository, to which files of every kind were pushed."""
    (copy.folder / "link").symlink_to("main.py")
    (copy.folder / b"odd \xff\nname".decode(errors="surrogateescape")).write_text("odd")
    copy.commit({"big": b"x" * 5000, ".gitattributes": "* text eol=crlf filter=lfs\n"}, message="all sorts")
    path = repository_of(entry=entry, track=tracks["model"]).path
    copy.git("push", str(path), "main")
    return path


@pytest.fixture
def reader(bare: Path) -> Iterator[GitReader]:
    """A reader of it."""
    with GitReader(bare) as opened:
        yield opened


def children() -> set[int]:
    """The processes that this one has started."""
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def test_the_processes_that_read_objects_have_limits_and_are_paid_for(bare: Path, copy: WorkingCopy) -> None:
    head, before, meter = copy.git("rev-parse", "HEAD"), children(), Meter()
    with meter.running():
        own = time.thread_time()
        with GitReader(bare) as reader:
            assert reader.content(reader.files(head)[0].object, 100)
            started = children() - before
            limits = [resource.prlimit(pid, resource.RLIMIT_AS)[1] for pid in started]
        own = time.thread_time() - own
    assert len(started) == 2
    assert limits == [MAX_MEMORY_BYTES] * 2
    assert not children() & started
    assert meter.seconds > own


def test_an_object_that_is_missing_is_no_end_of_the_reader(reader: GitReader, copy: WorkingCopy) -> None:
    assert reader.resolve("no-such-branch") is None
    with pytest.raises(Fault, match="cannot be read"):
        reader.content("0" * 40, 100)
    assert reader.resolve("main") == copy.git("rev-parse", "HEAD")


def test_the_end_of_a_process_is_a_fault(reader: GitReader) -> None:
    before = children()
    reader.resolve("main")
    for pid in children() - before:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(Fault, match=r"git cat-file in .* has ended"):
        reader.resolve("main")


def test_refs_files_contents_and_recent_commits_are_read(reader: GitReader, copy: WorkingCopy) -> None:
    head = copy.git("rev-parse", "HEAD")
    assert reader.resolve("main") == reader.resolve("refs/heads/main") == reader.resolve(head) == head
    files = {file.path: file for file in reader.files(head)}
    assert set(files) == {"main.py", "link", "big", ".gitattributes", "odd \udcff\nname"}
    assert (files["link"].mode, files["big"].mode, files["big"].size) == ("120000", "100644", 5000)
    assert reader.content(files["link"].object, 100) == b"main.py"
    assert reader.content(files["big"].object, 10) == b"x" * 10
    assert reader.refs() == {"refs/heads/main": head}
    assert [each.subject for each in reader.recent(5)] == ["all sorts", "work"]


def test_a_tag_of_the_site_is_set_once(reader: GitReader, copy: WorkingCopy) -> None:
    newest, first = (copy.git("rev-parse", name) for name in ("HEAD", "HEAD~"))
    assert reader.make_tag("submission-web-1", newest)
    assert not reader.make_tag("submission-web-1", first)
    assert reader.resolve("submission-web-1") == newest


def test_it_rejects_names_without_a_commit(reader: GitReader) -> None:
    assert [reader.resolve(name) for name in ("nothing", "--help", ":/all", "main\nmain", "a" * 40)] == [None] * 5
    with pytest.raises(Fault):
        reader.content("a" * 40, 10)


def test_it_rejects_endless_trees(reader: GitReader, bare: Path) -> None:
    def store(kind: str, content: bytes) -> bytes:
        command = ["git", "--git-dir", str(bare), "hash-object", "-w", "-t", kind, "--stdin"]
        return subprocess.run(command, input=content, capture_output=True, check=True).stdout.strip()

    inner = store("blob", b"")
    mode = b"100644"
    for _ in range(12):
        entries = b"".join(mode + b" f%d\0" % number + bytes.fromhex(inner.decode()) for number in range(10))
        inner, mode = store("tree", entries), b"40000"
    with pytest.raises(Refusal, match="more than 10,000 files"):
        reader.files(inner.decode())


def test_concurrent_checkouts_are_complete_and_equal(bare: Path, copy: WorkingCopy, tmp_path: Path) -> None:
    target = tmp_path / "out" / "commit"
    head = copy.git("rev-parse", "HEAD")
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(check_out, bare, head, target) for _ in range(4)]:
            done.result()
    assert (target / "link").is_symlink()
    assert (target / "big").read_bytes() == b"x" * 5000
    assert not (target / ".git").exists()
    assert [each.name for each in target.parent.iterdir()] == ["commit"]


def test_attributes_of_a_commit_change_no_file(bare: Path, copy: WorkingCopy, tmp_path: Path) -> None:
    text = "$Id$ of a file\n"
    attributes = "* text eol=crlf ident\nwide working-tree-encoding=UTF-32\n"
    head = copy.commit({"narrow": text, "wide": "w".encode("utf-32"), ".gitattributes": attributes}, message="files")
    copy.git("push", str(bare), "main")
    check_out(bare, head, tmp_path / "out")
    assert (tmp_path / "out" / "narrow").read_bytes() == text.encode()
    assert (tmp_path / "out" / "wide").read_bytes() == b"w"


def test_a_checkout_needs_free_space(bare: Path, copy: WorkingCopy, tmp_path: Path) -> None:
    many = "".join(f"100644 blob {copy.git('rev-parse', 'HEAD:big')}\tf{number}\n" for number in range(3))
    tree = subprocess.run(
        ["git", "--git-dir", str(bare), "mktree"], input=many.encode(), capture_output=True, check=True
    ).stdout.decode()
    reader = GitReader(bare)
    assert checkout_bytes(reader.files(tree.strip())) == 15_000
    with pytest.raises(HostFault, match="MiB free; a checkout of"):
        require_space(15_000, disk=tmp_path, what="a checkout of it", reserve=1 << 60)


def test_it_rejects_folders_without_files_that_git_cannot_read(reader: GitReader, bare: Path) -> None:
    store = ["git", "--git-dir", str(bare), "hash-object", "-w", "-t", "tree", "--stdin"]
    inner = subprocess.run(store, input=b"", capture_output=True, check=True).stdout.decode().strip()
    for _ in range(13):
        content = b"40000 " + b"d" * 250 + b"\0" + bytes.fromhex(inner)
        inner = subprocess.run(store, input=content, capture_output=True, check=True).stdout.decode().strip()
    with pytest.raises(Refusal, match="a path of more than 3,072 bytes"):
        reader.files(inner)


def test_it_rejects_a_checkout_without_a_commit(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(Fault):
        check_out(bare, "a" * 40, tmp_path / "out" / "commit")
    assert not (tmp_path / "out").exists()


def test_a_repository_is_created_once(entry: Entry, tracks: dict[str, Track], settings: Settings) -> None:
    made = [repository_of(entry=entry, track=tracks["model"]) for _ in range(2)]
    assert made[0] == made[1]
    assert [each.name for each in settings.REPOSITORIES.iterdir()] == [made[0].path.name]
