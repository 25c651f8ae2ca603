"""Rules on the files of a submission."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import Refusal
from repositories.file_rules import Limits, check_files
from repositories.git_reader import TreeFile

LIMITS = Limits(file_bytes=2 << 20, files=3, total_bytes=4 << 20)


class Contents:
    """Reader whose object content is the object name."""

    def content(self, name: str, limit: int) -> bytes:
        return name.encode()[:limit]


def file(path: str, holds: str = "text", mode: str = "100644", size: int = 0) -> TreeFile:
    return TreeFile(path=path, mode=mode, size=size or len(holds), object=holds)


def problem_of(*files: TreeFile) -> str:
    """Why these files are refused; nothing where they are accepted."""
    try:
        check_files(list(files), Contents(), LIMITS)
    except Refusal as refusal:
        return refusal.problem
    return ""


def test_files_at_the_limits_and_links_that_stay_inside_are_accepted() -> None:
    assert problem_of(file("a/ü.py"), file("a/link", "../b", "120000"), file("b", size=2 << 20)) == ""


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (file("inner", mode="160000"), "inner: submodules"),
        (file(".gitmodules"), ".gitmodules: submodules"),
        (file("data/.wh.weights/a"), "no name may begin with .wh."),
        (file("weights", size=(2 << 20) + (1 << 19)), "weights has 2.5 MiB; a file may have at most 2 MiB"),
        (file("a/link", "../../b", "120000"), "leads out of the repository, to '../../b'"),
        (file("link", "/etc/passwd", "120000"), "leads out of the repository, to '/etc/passwd'"),
        (file("link", "x", "120000", size=5000), "target of 5,000 bytes"),
        (file("a\nb"), r"the name 'a\nb' has control characters"),
        (file("a\udcff"), "is not UTF-8"),
        (file("a/" + "n" * 256), "has a name of 256 bytes"),
        (file("ü" * 128 + "/a"), "has a name of 256 bytes"),
        (file("d/" * 1537 + "a"), "has 3,075 bytes; at most 3,072"),
        (file("link", "x/" * 2048, "120000"), "the link link has a target of 4,096 bytes"),
        (file("link", "a/" + "n" * 256, "120000"), "the target of the link link has a name of 256 bytes"),
        (file("weights", "version https://git-lfs.github.com/spec/v1\n"), "Git LFS is not supported"),
    ],
)
def test_it_rejects_invalid_files(wrong: TreeFile, problem: str) -> None:
    with pytest.raises(Refusal) as refusal:
        check_files([file("main.py"), wrong], Contents(), LIMITS)
    assert problem in refusal.value.problem
    assert refusal.value.fix


def test_the_longest_names_pass_and_can_be_checked_out(tmp_path: Path) -> None:
    longest = "n" * 255
    path = "/".join([longest] * 12)
    assert len(path) == 3071
    check_files([file(path), file("link", f"{longest}/{longest}", "120000")], Contents(), LIMITS)
    folder = tmp_path / path
    folder.parent.mkdir(parents=True)
    folder.write_text("written")
    (tmp_path / "link").symlink_to(f"{longest}/{longest}")
    assert (tmp_path / "link").is_dir()


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        (("a/b/c/up", "../../.."), ("l", "a/b/c/up/../../etc/passwd"), "the link l leads out of the repository"),
        (("a/b/up", "../.."), ("a/l", "b/up/.."), "the link a/l leads out of the repository"),
        (("a", "b"), ("b", "./a"), "the link a to 'b' passes more than 256 names, or is circular"),
    ],
)
def test_it_rejects_links_through_links(first: tuple[str, str], second: tuple[str, str], problem: str) -> None:
    with pytest.raises(Refusal) as refusal:
        check_files([file(*first, mode="120000"), file(*second, mode="120000")], Contents(), LIMITS)
    assert problem in refusal.value.problem
    assert refusal.value.fix


def test_links_through_links_inside_are_accepted() -> None:
    check_files(
        [file("a/b/up", "../..", "120000"), file("l", "a/b/up/a/./b/../c", "120000"), file("d", "l")],
        Contents(),
        LIMITS,
    )
    check_files([file("a/b/up", "..", "120000"), file("l", "a/b/up/../main.py", "120000")], Contents(), LIMITS)


def test_repeated_files_count_each_time() -> None:
    two = [file(name, holds="one object", size=3 << 20) for name in ("a", "b")]
    with pytest.raises(Refusal, match="6 MiB in total when checked out; at most 5 MiB"):
        check_files(two, Contents(), Limits(file_bytes=4 << 20, files=3, total_bytes=5 << 20))
    check_files(two, Contents(), Limits(file_bytes=4 << 20, files=3, total_bytes=6 << 20))


def test_it_rejects_too_many_links() -> None:
    links = [file(str(number), "x", "120000") for number in range(101)]
    limits = Limits(file_bytes=1, files=200, total_bytes=1000)
    with pytest.raises(Refusal, match="101 symbolic links; at most 100"):
        check_files(links, Contents(), limits)
    check_files(links[1:], Contents(), limits)


def test_it_rejects_too_many_files() -> None:
    with pytest.raises(Refusal, match="4 files; at most 3"):
        check_files([file(str(number)) for number in range(4)], Contents(), LIMITS)
