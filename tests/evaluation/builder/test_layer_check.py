"""Layers that a build may have written itself: what an engine would unpack, and what it must not see."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
from collections.abc import Callable

import pytest

from evaluation.builder.layer_check import DiskSpace, unpacked

MOST = DiskSpace(files=100, bytes=1 << 20)

Change = Callable[[tarfile.TarInfo], None]


def archive(*members: tarfile.TarInfo, kind: int = tarfile.PAX_FORMAT) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=kind) as written:
        for member in members:
            written.addfile(member, io.BytesIO(bytes(member.size)) if member.isreg() else None)
    return target.getvalue()


def member(name: str = "a", size: int = 0, **attributes: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.size = size
    for attribute, value in attributes.items():
        setattr(made, attribute, value)
    return made


def header(content: bytes, at: int, value: bytes) -> bytes:
    """Change the first header of an archive, and its checksum."""
    whole = content[:at] + value + content[at + len(value) :]
    whole = whole[:148] + b" " * 8 + whole[156:]
    return whole[:148] + b"%06o\0 " % sum(whole[:512]) + whole[156:]


USUAL = [
    member("etc", type=tarfile.DIRTYPE),
    member("etc/passwd", 700),
    member("etc/" + "long" * 60, 5),
    member("etc/link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    member("etc/hard", type=tarfile.LNKTYPE, linkname="etc/passwd"),
    member("run/pipe", type=tarfile.FIFOTYPE),
    member("dev/null", type=tarfile.CHRTYPE),
    member("etc/.wh.shadow"),
    member("bin/ping", 9, pax_headers={"SCHILY.xattr.security.capability": "x"}),
]


@pytest.mark.parametrize("kind", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT], ids=["pax", "gnu"])
def test_the_files_and_bytes_of_a_usual_layer_are_counted(kind: int) -> None:
    assert unpacked(io.BytesIO(archive(*USUAL, kind=kind)), most=MOST) == DiskSpace(files=9, bytes=714)


@pytest.mark.parametrize(
    ("content", "counted"),
    [
        (archive(*(member() for _ in range(200))), DiskSpace(101, 0)),
        (archive(member(size=1 << 19), member(size=1 << 20), member()), DiskSpace(2, 3 << 19)),
    ],
    ids=["files", "bytes"],
)
def test_it_stops_at_a_limit(content: bytes, counted: DiskSpace) -> None:
    assert unpacked(io.BytesIO(content), most=MOST) == counted
    assert not MOST.covers(counted)


def records(text: bytes) -> bytes:
    """Return an archive whose extended header holds the records `text`."""
    return extended(text) + archive(member())


def extended(text: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    written = member("x", len(text), type=kind).tobuf(tarfile.USTAR_FORMAT)
    return written + text + bytes(-len(text) % 512)


PLAIN = archive(member(size=3))
HOSTILE: dict[str, tuple[bytes, str]] = {
    "nothing of an archive": (b"x" * 512, "not a plain tar archive"),
    "compressed by gzip": (gzip.compress(PLAIN), "not a plain tar archive"),
    "compressed by bzip2": (bz2.compress(PLAIN), "not a plain tar archive"),
    "an old archive": (header(PLAIN, 257, bytes(8)), "not a plain tar archive"),
    "a wrong checksum": (b"b" + PLAIN[1:], "a wrong checksum"),
    "an old sparse file": (header(PLAIN, 156, b"S"), "a sparse file or another unusual entry"),
    "a sparse file": (records(b"22 GNU.sparse.major=1\n"), "sets GNU.sparse.major"),
    "the map of a sparse file": (records(b"22 GNU.sparse.map=0,1\n"), "sets GNU.sparse.map"),
    "a size beside the header": (records(b"13 size=9999\n"), "sets size"),
    "a directory that overlays redirect": (
        records(b"53 SCHILY.xattr.trusted.overlay.redirect=/etc/shadow\n"),
        "sets SCHILY.xattr.trusted.overlay.redirect",
    ),
    "records for all files": (extended(b"13 size=9999\n", tarfile.XGLTYPE) + PLAIN, "unusual entry"),
    "a size after a NUL": (header(PLAIN, 124, b"\x0000000000077"), "the size of a file is not readable"),
    "a size with a sign": (header(PLAIN, 124, b"-0000000001\0"), "the size of a file is not readable"),
    "a size of a tebibyte": (header(PLAIN, 124, b"\x80" + bytes(5) + b"\1" + bytes(5)), "above 8 GiB"),
    "a directory with content": (header(PLAIN, 156, b"5"), "a directory has content"),
    "a link with content": (header(PLAIN, 156, b"1"), "a hard link has content"),
    "a type of an old reader": (header(PLAIN, 156, b"\0"), "unusual entry"),
    "a long extended header": (extended(bytes(1 << 21)) + PLAIN, "larger than 1024 KiB"),
    "a record without a length": (records(b"path=x\n"), "not readable"),
    "a record that is longer than its header": (records(b"999 path=x\n"), "not readable"),
    "a record of no length": (records(b"0 path=x\n"), "not readable"),
    "a record without a value": (records(b"7 path\n"), "not readable"),
    "more after its end": (PLAIN[:1024] + bytes(512) + PLAIN, "goes on after its end"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_rejects_what_readers_differ_in_or_engines_expand(name: str) -> None:
    content, problem = HOSTILE[name]
    with pytest.raises(ValueError, match=problem):
        unpacked(io.BytesIO(content), most=MOST)
