"""A body in parts: written, read, and refused where it is not what its manifest says."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from typing import Any

import numpy as np
import pytest

from evaluation.bundle import body_in_parts, rfc8785
from evaluation.bundle.binary_columns import hash_texts, hashes
from evaluation.bundle.body_in_parts import PartsBody, decode, encode, read_manifest
from evaluation.domain.errors import BundleRefusal

LINES: list[dict[str, Any]] = [
    {"kind": "head", "of": "Käuze"},
    *(
        {"kind": "labels", "number": number, "labels": np.arange(number, 40 + number, dtype="<i2")}
        for number in range(6)
    ),
    {"kind": "mixed", "a": np.array([0.5, 1.0]), "b": hashes(["ab" * 32, ""]), "c": np.array([1, 2**32 - 1], "<u4")},
    {"kind": "end", "value": 1.0},
]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The lines in four parts."""
    monkeypatch.setattr(body_in_parts, "PART_BYTES", 250)
    return encode(LINES)


def cut(content: bytes) -> tuple[bytes, list[bytes]]:
    """Return the manifest and the parts."""
    manifest, _, rest = content.partition(b"\n")
    found = []
    for part in read_manifest(manifest + b"\n"):
        found.append(rest[: part.bytes])
        rest = rest[part.bytes :]
    return manifest + b"\n", found


def of(*contents: bytes, lines: int = 1, **changes: Any) -> bytes:
    """Return a body of these parts under a manifest that fits."""
    listed = [{"bytes": len(each), "lines": lines, "sha256": sha256(each).hexdigest()} | changes for each in contents]
    return rfc8785.canonical({"kind": "parts", "form": 3, "parts": listed}) + b"\n" + b"".join(contents)


def line(columns: list[list[Any]], content: bytes) -> bytes:
    return rfc8785.canonical({"kind": "labels", "columns": columns}) + b"\n" + content


def test_a_body_in_parts_is_read_as_the_lines_it_was_written_from(written: bytes) -> None:
    read = decode(written)
    assert len(cut(written)[1]) == 4
    assert [each["kind"] for each in read] == [each["kind"] for each in LINES]
    assert np.array_equal(read[3]["labels"], LINES[3]["labels"])
    assert hash_texts(read[7]["b"]) == ("ab" * 32, "")
    assert encode(read) == written


def test_a_stranger_finds_lines_and_columns(written: bytes) -> None:
    manifest, (first, *_) = cut(written)
    head, line, content = first.split(b"\n", 2)
    assert (head, line[:46]) == (
        '{"kind":"head","of":"Käuze"}'.encode(),
        b'{"columns":[["labels","i2",40]],"kind":"labels',
    )
    assert np.frombuffer(content[:80], "<i2").tolist() == list(range(40))
    assert b'"form":3,"kind":"parts"' in manifest


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda of: [of[0], *of[2:]], "part 2 of 4 is not the one of the manifest"),
        (lambda of: of[:-1], "the file ends in part 4 of 4: it is cut off, or parts are missing"),
        (lambda of: [*of[:-1], of[-1][:-1]], "the file ends in part 4 of 4: it is cut off"),
        (lambda of: [*of, of[-1]], "bytes follow the last part: a part is there twice, or was added"),
        (lambda of: [of[0], of[0], *of[1:]], "part 2 of 4 is not the one of the manifest"),
        (lambda of: [of[0], of[2], of[1], of[3]], "part 2 of 4 is not the one of the manifest: part 3 is there"),
        (lambda of: [of[0], of[1][:-1] + b"\x07", *of[2:]], "it is damaged, missing, or that of another bundle"),
    ],
)
def test_the_first_part_that_is_not_in_its_place_is_named(
    written: bytes, change: Callable[[list[bytes]], list[bytes]], problem: str
) -> None:
    manifest, found = cut(written)
    with pytest.raises(BundleRefusal, match=problem):
        decode(manifest + b"".join(change(found)))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (of(line([["labels", "i2", 10**9]], b"12")), r"'labels' of 1,000,000,000 values needs 2,000,000,000 bytes"),
        (of(line([["labels", "i2", 2]], b"12")), "needs 4 bytes, but its part has only 2 left"),
        (of(line([["labels", "i2", 1]], b"1234")), "its part has 2 bytes after its last line"),
        (of(line([["labels", "i2", -1]], b"")), "must be its name, its type and the number of its values"),
        (of(line([["labels", "i2", 1.5]], b"")), "must be its name, its type and the number of its values"),
        (of(line([["labels", "O", 1]], b"12345678")), "the type of a column must be one of"),
        (of(line([["kind", "u1", 1]], b"1")), "is also a field"),
        (of(line([["b", "u1", 1], ["a", "u1", 1]], b"12")), "not sorted by name"),
        (of(line([["a", "u1", 1], ["a", "u1", 1]], b"12")), "not sorted by name"),
        (of(line([], b"")), "columns must be a list of 1 to 16"),
        (of(b'{"kind":"a"}'), "it does not end in its part"),
        (of(b'{"a":1.0,"kind":"a"}\n'), "not in canonical form"),
        (of(b'{"kind":"a"}\n', lines=2), "it does not end in its part"),
        (of(b'{"kind":"a"}\n{"kind":"a"}\n'), "its part has 13 bytes after its last line"),
        (of(b'{"kind":"a"}\n', bytes=10**12), "bytes must be a whole number from 1 to 16000000"),
        (of(b'{"kind":"a"}\n', lines=10**9), "lines must be a whole number from 1 to 400000"),
        (of(*[b'{"kind":"a"}\n'] * 3, lines=200_000), "more than 400,000 lines"),
        (of(*[b'{"kind":"a"}\n'] * 1001), "must have 1 to 1,000 parts"),
        (of(), "must have 1 to 1,000 parts"),
        (b'{"form":4,"kind":"parts","parts":[]}\n', "its form is not 3"),
    ],
)
def test_what_no_writer_writes_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(BundleRefusal, match=problem):
        decode(content)


def test_memory_is_that_of_a_part() -> None:
    """Not that of the file, nor of what a line promises."""
    lines = ({"kind": "labels", "labels": np.zeros(500_000, "<i2")} for _ in range(30))
    file = BytesIO(encode(lines))
    tracemalloc.start()
    assert sum(len(each["labels"]) for each in PartsBody(file.readline(), file)) == 15_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * body_in_parts.PART_BYTES
    bomb = of(line([["labels", "f8", 2**50]], b""))
    tracemalloc.start()
    with pytest.raises(BundleRefusal):
        decode(bomb)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "most", "problem"),
    [
        ("MOST_PART_BYTES", 300, "bytes in a part"), ("MOST_LINE_BYTES", 20, "bytes in a line"),
        ("MOST_LINES", 8, "9 lines"), ("MOST_TEXT_BYTES", 200, "bytes in its lines"), ("MOST_PARTS", 3, "4 parts"),
    ],
)  # fmt: skip
def test_what_nobody_would_read_is_not_written(
    monkeypatch: pytest.MonkeyPatch, name: str, most: int, problem: str
) -> None:
    monkeypatch.setattr(body_in_parts, "PART_BYTES", 250)
    monkeypatch.setattr(body_in_parts, name, most)
    with pytest.raises(ValueError, match=rf"the bundle would have .*{problem}"):
        encode(LINES)


def test_columns_of_other_types_are_not_written() -> None:
    with pytest.raises(ValueError, match="a column cannot hold int64"):
        encode([{"kind": "labels", "labels": np.zeros(2, np.int64)}])
