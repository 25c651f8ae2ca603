"""The digest of a tree: what changes it, what does not, and what no tree may hold."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import BuildRefusal

Make = Callable[..., Path]
Change = Callable[[Path], object]


def test_equal_trees_have_one_digest_of_sha256(make_repository: Make) -> None:
    digest = tree_digest(make_repository())

    assert digest.startswith("sha256:")
    assert len(digest) == len("sha256:") + 64
    assert digest == tree_digest(make_repository("copy"))


CHANGES: dict[str, Change] = {
    "content": lambda top: (top / "main.py").write_text("other"),
    "name": lambda top: (top / "main.py").rename(top / "other.py"),
    "executable": lambda top: (top / "main.py").chmod(0o755),
    "more": lambda top: (top / "more").write_text(""),
    "link": lambda top: (top / "link").symlink_to("main.py"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_it_sees_a_change(make_repository: Make, change: Change) -> None:
    top = make_repository()
    before = tree_digest(top)

    change(top)

    assert tree_digest(top) != before


def test_it_looks_past_git_caches_times_and_the_umask(make_repository: Make) -> None:
    top = make_repository(files={"sub/code.py": "x = 1\n"})
    before = tree_digest(top)

    for ignored in (".git/HEAD", "sub/__pycache__/code.pyc"):
        (top / ignored).parent.mkdir()
        (top / ignored).write_text("changes all the time")
    os.utime(top / "main.py", (1, 1))
    (top / "main.py").chmod(0o600)
    (top / "empty").mkdir()

    assert tree_digest(top) == before


def _socket(top: Path) -> None:
    # a short name: addresses of sockets have about a hundred bytes
    listener = socket.socket(socket.AF_UNIX)
    directory = os.open(top, os.O_RDONLY)
    listener.bind(f"/proc/self/fd/{directory}/ear")
    os.close(directory)
    listener.close()


def _link_out_by_a_link(top: Path) -> None:
    (top / "sub").mkdir()
    (top / "sub/up").symlink_to("..")
    (top / "x").symlink_to("sub/up/../..")


BAD: dict[str, tuple[Change, str]] = {
    "absolute link": (lambda top: (top / "link").symlink_to("/etc/passwd"), "link: the symbolic link is absolute"),
    "link out": (lambda top: (top / "link").symlink_to("../../secret"), "link: the symbolic link leaves"),
    "link out by a link": (_link_out_by_a_link, "x: the symbolic link leaves"),
    "link to itself": (lambda top: (top / "link").symlink_to("link"), "link: the symbolic link cannot be followed"),
    "fifo": (lambda top: os.mkfifo(top / "pipe"), "pipe: is a fifo"),
    "socket": (_socket, "ear: is a socket"),
    "submodules": (lambda top: (top / ".gitmodules").write_text(""), ".gitmodules: submodules"),
    "deletions in layers": (lambda top: (top / ".wh.main.py").write_text(""), ".wh.main.py: no name may begin with"),
}


@pytest.mark.parametrize(("spoil", "problem"), BAD.values(), ids=BAD)
def test_it_rejects_what_no_submission_may_hold(make_repository: Make, spoil: Change, problem: str) -> None:
    top = make_repository()
    spoil(top)

    with pytest.raises(BuildRefusal) as caught:
        tree_digest(top)

    assert caught.value.problem.startswith(problem)
    assert caught.value.fix
