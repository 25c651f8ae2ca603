"""`tools/verify.mjs` and `gauntlet verify` say the same of random bundles and of changed ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bench.tampered_bundles import SEED, body_of, changes_of
from bench.two_verifiers import said_by_node, said_by_python
from evaluation.bundle import body_in_parts
from evaluation.bundle.body_in_parts import decode, encode
from evaluation.bundle.signing import sign
from tests.evaluation.bundle.test_body_in_parts import cut, of


def test_they_accept_the_same_bundles() -> None:
    bundles = {str(seed): sign(body_of(seed), SEED) for seed in range(5000, 5010)}
    assert all(said_by_node(bundles).values())
    assert all(map(said_by_python, bundles.values()))


def test_they_accept_a_bundle_of_an_earlier_version() -> None:
    written = Path(__file__).parents[1] / "evaluation/formats/transfer/bundle/written_by_version_3.gauntlet"
    bundle = written.read_bytes()
    assert said_by_python(bundle)
    assert said_by_node({"version 3": bundle}) == {"version 3": True}


@pytest.mark.parametrize("seed", [8, 9])
def test_they_refuse_the_same_changes(seed: int) -> None:
    bundles = {name: change() for name, change in changes_of(body_of(seed), seed).items()}
    assert len(bundles) > 20
    assert not any(said_by_node(bundles).values())
    assert not any(map(said_by_python, bundles.values()))


@pytest.mark.parametrize("seed", [8, 9])
def test_they_refuse_parts_and_columns_that_no_writer_writes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = decode(body_of(seed))
    _, (whole,) = cut(encode(lines))
    billion = re.sub(rb'(\["[a-z_]+","[a-z][0-9]+",)[0-9]+\]', rb"\g<1>1000000000]", whole)
    assert billion != whole
    kind = "labels" if seed % 2 else "results"
    column = "labels" if seed % 2 else "queries"
    wide = [each | ({column: np.zeros(len(each[column]), "<f8")} if each["kind"] == kind else {}) for each in lines]
    bundles = {"a billion rows": sign(of(billion, lines=len(lines)), SEED), "a wide column": sign(encode(wide), SEED)}

    monkeypatch.setattr(body_in_parts, "PART_BYTES", len(whole) // 3)
    signed, other = (sign(encode(decode(body_of(number))), SEED) for number in (seed, seed + 2))
    signature, _, body = signed.partition(b"\n")
    manifest, (first, second, *rest) = cut(body)
    orders = {
        "missing": [first, *rest], "twice": [first, second, second, *rest], "at the end": [first, *rest, second],
        "cut off": [first, second[:-1]], "of another round": [*cut(other.partition(b"\n")[2])[1]],
    }  # fmt: skip
    bundles |= {name: signature + b"\n" + manifest + b"".join(order) for name, order in orders.items()}
    assert said_by_python(signed)
    assert said_by_node({"as written": signed}) == {"as written": True}
    assert not any(map(said_by_python, bundles.values()))
    assert not any(said_by_node(bundles).values())


def test_they_refuse_batches_without_images() -> None:
    head, *lines = decode(body_of(9))
    rules = [{**head["rules"], "batch_images": number} for number in (0, -1, 0.5, "7")]
    bundles = {str(each["batch_images"]): sign(encode([{**head, "rules": each}, *lines]), SEED) for each in rules}
    assert not any(said_by_node(bundles).values())
    assert not any(map(said_by_python, bundles.values()))
