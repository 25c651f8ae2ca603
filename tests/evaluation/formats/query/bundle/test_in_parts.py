"""Bundles of the query format in parts, and bundles that earlier versions wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from evaluation.bundle.body_in_parts import decode, encode
from evaluation.bundle.key_succession import public_key
from evaluation.bundle.signing import sign
from evaluation.domain.errors import Refusal
from evaluation.formats.query.bundle import reader
from evaluation.formats.query.bundle.reader import read
from evaluation.formats.query.bundle.verify import verify
from evaluation.formats.query.bundle.writer import Record
from evaluation.formats.registry import format_of_bundle
from tests.evaluation.bundle.bodies import body, body_of

Lines: TypeAlias = list[dict[str, Any]]


@pytest.fixture(scope="module")
def in_parts(played_in_parts: Record) -> bytes:
    return body(played_in_parts)


def of(lines: Lines, kind: str, **fields: Any) -> dict[str, Any]:
    return next(line for line in lines if line["kind"] == kind and fields.items() <= line.items())


def put(lines: Lines, name: str, value: float, at: int | slice = 0) -> None:
    line = of(lines, "results")
    line[name] = line[name].copy()
    line[name][at] = value


def verified(bundle: bytes, seed: bytes) -> bool:
    try:
        return verify(bundle, public_key(seed)).ok
    except Refusal:  # nothing to verify
        return False


def test_a_signed_bundle_in_parts_verifies_and_is_smaller_than_one_in_lines(
    in_parts: bytes, played_in_parts: Record, seed: bytes
) -> None:
    bundle = BytesIO(sign(in_parts, seed))
    assert format_of_bundle(bundle) == "query"
    assert verify(bundle, public_key(seed)).problems == ()
    assert read(body_of(in_parts)).record == played_in_parts
    # sample results take half of the bytes that they take in lines
    assert 3 * len(in_parts) < 2 * len(body(replace(played_in_parts, head=replace(played_in_parts.head, format=3))))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda lines: put(lines, "distances", np.nan), "distances must be from 0 to"),
        (lambda lines: put(lines, "distances", -0.0), "distances must be from 0 to"),
        (lambda lines: put(lines, "distances", 1e300), "distances must be from 0 to"),
        (lambda lines: put(lines, "distances", 45.0), "it must not be above the worst case"),
        (lambda lines: put(lines, "outcomes", 1), "it must be the worst case of the sample"),
        (lambda lines: put(lines, "outcomes", 3), "outcomes must be numbers from 0 to 2"),
        (lambda lines: put(lines, "queries", 1001), "more than the 1000 queries"),
        (lambda lines: put(lines, "piece_ends", 10), "end must be a whole number from 11 to"),
        (lambda lines: put(lines, "piece_digests", 0, at=slice(None)), "the digest of a piece is not 64"),
        (lambda lines: of(lines, "results").update(piece_ends=np.array([16], "<u4")), "an end and a digest"),
        (lambda lines: of(lines, "results").update(queries=np.zeros(9, "<u4")), "its columns must have one length"),
        (lambda lines: of(lines, "results").update(queries=np.zeros(16, "<i2")), "queries must be a column of the"),
        (lambda lines: of(lines, "results").update(seed="1e3"), "seed must be the digits"),
        (lambda lines: of(lines, "head").update(format=3), "pieces is missing"),
        (lambda lines: of(lines, "place", player="model-11").update(value=1), "value is 1, but the results make it"),
        (lambda lines: of(lines, "place").update(more=np.zeros(1)), "have no columns, but it has 'more'"),
        (lambda lines: of(lines, "head").update(title=np.zeros(1)), "title must be text"),
        (lambda lines: of(lines, "place").update(place=2), "place is 2, but the results make it 1"),
        (lambda lines: lines.remove(of(lines, "results")), "the results are incomplete"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_although_it_is_signed(
    in_parts: bytes, seed: bytes, change: Callable[[Lines], object], problem: str
) -> None:
    lines = decode(in_parts)
    change(lines)
    report = verify(sign(encode(lines), seed), public_key(seed))
    assert any(problem in each.text for each in report.problems), report.problems


def test_more_results_than_memory_is_meant_for_are_refused(
    in_parts: bytes, seed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_ROWS", 100)
    (problem,) = verify(sign(in_parts, seed)).problems
    assert "more than 100 results" in problem.text


def test_every_changed_byte_is_noticed(in_parts: bytes, seed: bytes) -> None:
    signed = sign(in_parts, seed)
    found = [
        (at, signed[:at] + bytes([signed[at] ^ 1]) + signed[at + 1 :])
        for at in range(0, len(signed), len(signed) // 40)
    ]
    assert [at for at, changed in found if verified(changed, seed)] == []


@pytest.mark.parametrize("version", [2, 3])
def test_a_bundle_that_an_earlier_version_wrote_still_verifies(version: int, seed: bytes) -> None:
    with (Path(__file__).parent / f"written_in_format_{version}.jsonl").open("rb") as file:
        assert format_of_bundle(file) == "query"
        assert verify(file, public_key(seed)).problems == ()
