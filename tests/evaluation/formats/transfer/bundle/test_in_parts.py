"""Bundles of the transfer format in parts, and bundles that earlier versions wrote."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from evaluation.bundle.binary_columns import hashes
from evaluation.bundle.body_in_parts import decode, encode
from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.bundle.canonical_json import commitment_of
from evaluation.bundle.key_succession import public_key
from evaluation.bundle.signature_check import Report
from evaluation.bundle.signing import sign
from evaluation.domain.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.formats.registry import format_of_bundle
from evaluation.formats.transfer.bundle import reader
from evaluation.formats.transfer.bundle.reader import read
from evaluation.formats.transfer.bundle.size_check import check_size
from evaluation.formats.transfer.bundle.verify import verify
from evaluation.formats.transfer.bundle.writer import (
    BundleAttackRun,
    BundleBatch,
    BundleEntrant,
    BundleLabels,
    TransferHead,
    TransferRecord,
    transfer_field_commitment,
)
from evaluation.formats.transfer.rules import Opponents, TransferRules, TransferTrack
from tests.evaluation.bundle.bodies import body, body_of

Lines: TypeAlias = list[dict[str, Any]]
SEED = bytes(range(32))
RULES = TransferRules(shape=ImageShape(8, 8, 3), classes=10, batch_images=5, epsilons=(8, 16), batch_seconds=1e-7)


def sha(number: int) -> str:
    return f"{number:064x}"


@pytest.fixture
def record() -> TransferRecord:
    """Twelve images in three batches, two attacks, one of them targeted, and two defences."""
    attacks, defences = ("first", "aimed"), ("good", "weak")
    tracks = dict(zip((*attacks, *defences), (*list(TransferTrack)[:2], *[TransferTrack.DEFENCE] * 2), strict=True))
    entrants = [
        BundleEntrant(track, player, "", (BundleSubmission(f"Käuze {player}", "c" * 40, "", "MIT", eligible=True),))
        for player, track in tracks.items()
    ]
    samples = [sha(number) for number in range(1, 13)]
    ends = (5, 10, 12)
    batches = [
        BundleBatch(epsilon, tuple(samples[start:end]), (1,) * (end - start), (3,) * (end - start))
        for epsilon, start, end in zip((8, 16, 8), (0, 5, 10), ends, strict=True)
    ]
    runs = {
        (attack, number): BundleAttackRun(tuple(sha(100 + at) for at in batch.labels), "", sha(300 + number))
        for attack in attacks
        for number, batch in enumerate(batches)
    }
    runs["aimed", 2] = BundleAttackRun(("", ""), "too_slow", sha(1))
    good, weak = [1] * 9 + [0] * 3, [1, 3, 0] * 4
    labels = {
        (attack, defence): BundleLabels(array("h", given if attack == "first" else [*given[:10], -1, -1]), ("",) * 3)
        for attack in attacks
        for defence, given in (("good", good), ("weak", weak))
    }
    head = TransferHead("transfer", 1, "Final", "final", 1, RULES, 2**62, commitment_of(samples), "5" * 64, "")
    return committed(TransferRecord(head, batches, entrants, runs, labels))


def committed(record: TransferRecord) -> TransferRecord:
    """Return the same round with the commitment to its field."""
    samples = sum(len(batch.hashes) for batch in record.batches)
    field = transfer_field_commitment(record.head, samples, record.entrants)
    return replace(record, head=replace(record.head, field_commitment=field))


def checked(record: TransferRecord, change: Callable[[Lines], object]) -> Report:
    lines = decode(body(record))
    change(lines)
    return verify(sign(encode(lines), SEED), public_key(SEED))


def of(lines: Lines, kind: str, number: int = 0) -> dict[str, Any]:
    return [line for line in lines if line["kind"] == kind][number]


def relabel(lines: Lines, number: int, index: int, label: int) -> None:
    line = of(lines, "labels", number)
    line["labels"] = line["labels"].copy()
    line["labels"][index] = label


def verified(bundle: bytes, seed: bytes) -> bool:
    try:
        return verify(bundle, public_key(seed)).ok
    except Refusal:  # nothing to verify
        return False


def test_a_bundle_in_parts_is_read_back_and_verifies_with_its_interval(record: TransferRecord) -> None:
    bundle = BytesIO(sign(body(record), SEED))
    assert format_of_bundle(bundle) == "transfer"
    assert read(body_of(body(record))).record == record
    head = record.head
    report = verify(bundle, public_key(SEED), samples=head.commitment, field=head.field_commitment)
    assert (report.problems, report.key) == ((), public_key(SEED))
    assert "12 samples in 3 batches, 48 labels" in report.summary
    assert of(decode(body(record)), "standing")["low"] < of(decode(body(record)), "standing")["score"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda lines: relabel(lines, 2, 1, 0), 'standing of "first" in the track attack: '),
        (lambda lines: relabel(lines, 0, 11, 6), "image 1 of batch 2 was not made, so it cannot have a label"),
        (lambda lines: relabel(lines, 0, 1, 11), "labels must be whole numbers from -1 to 10"),
        (lambda lines: of(lines, "labels").update(labels=np.zeros(11, "<i2")), "a label for each of the 12 images"),
        (
            lambda lines: of(lines, "labels").update(labels=np.zeros(12, "<u4")),
            "labels must be a column of the type i2",
        ),
        (lambda lines: of(lines, "labels").update(labels=[1] * 12), "labels must be a column of the type i2"),
        (lambda lines: of(lines, "labels").update(reasons={"3": "crashed"}), "by the number of its batch"),
        (lambda lines: of(lines, "labels").update(reasons={"01": "crashed"}), "by the number of its batch"),
        (lambda lines: of(lines, "labels").update(reasons={"1": "bored"}), "is not a reason"),
        (lambda lines: of(lines, "attack").update(hashes=hashes(["ab" * 32])), "batch 0 has 5 images, not 1"),
        (lambda lines: of(lines, "attack", 2).update(made=1), "made must be 0"),
        (lambda lines: of(lines, "batch").update(labels=np.full(5, 10, "<i2")), "labels must be whole numbers from 0"),
        (
            lambda lines: of(lines, "batch").update(targets=np.full(5, 1, "<i2")),
            "the target of a sample is its true class",
        ),
        (lambda lines: of(lines, "head").update(seed=7), "seed must be text"),
        (lambda lines: of(lines, "head").update(seed="07"), "seed must be the digits of a whole number"),
        (lambda lines: of(lines, "head").update(version=2), "seed must be a whole number"),
        (lambda lines: of(lines, "standing").update(score=np.zeros(1)), "have no columns, but it has 'score'"),
        (lambda lines: of(lines, "standing", 3).update(score=0.5), "but the labels make it"),
        (lambda lines: of(lines, "standing", 3).update(rank_high=1), "but the labels make it"),
        (lambda lines: lines.remove(of(lines, "attack")), '"aimed" on batch 0 is missing'),
        (lambda lines: lines.pop(), "a line is missing after it"),
    ],
)
def test_what_does_not_fit_is_named_although_it_is_signed(
    record: TransferRecord, change: Callable[[Lines], object], problem: str
) -> None:
    report = checked(record, change)
    assert not report.ok
    assert problem in report.problems[0].text


def test_every_changed_byte_is_noticed(record: TransferRecord) -> None:
    signed = sign(body(record), SEED)
    found = [(at, signed[:at] + bytes([signed[at] ^ 1]) + signed[at + 1 :]) for at in range(0, len(signed), 37)]
    assert [at for at, changed in found if verified(changed, SEED)] == []


def test_parts_of_another_round_are_refused(record: TransferRecord) -> None:
    other = sign(body(record), bytes(32))
    report = verify(sign(body(record), SEED).partition(b"\n")[0] + b"\n" + body(record)[:-400], public_key(SEED))
    assert "the file ends in part 1 of 1" in report.problems[0].text
    assert "neither the given key nor a successor" in verify(other, public_key(SEED)).problems[0].text
    relabelled = decode(body(record))
    relabel(relabelled, 2, 1, 0)
    mixed = sign(body(record), SEED).partition(b"\n")[0] + b"\n" + encode(relabelled)
    assert "the signature is not valid for this manifest" in verify(mixed, public_key(SEED)).problems[0].text
    assert "never signed" in verify(body(record)).problems[0].text


@pytest.mark.parametrize("bound", ["MOST_LABELS", "MOST_IMAGES"])
def test_a_larger_round_than_memory_is_meant_for_is_refused_before_its_labels(
    record: TransferRecord, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(reader, bound, 23)
    report = verify(sign(body(record), SEED), public_key(SEED))
    assert [problem.text for problem in report.problems] == ["the round is larger than this program can verify"]


def test_the_fields_of_2017_can_be_planned() -> None:
    check_size(91 + 65, 107, 5000, TransferRules())
    for players, samples in (((300, 150), 5000), ((700, 1), 5000), ((2000, 2000), 10), ((1600, 1500), 100)):
        with pytest.raises(Refusal, match="can be verified"):
            check_size(*players, samples, TransferRules())


def test_nobody_changes_rules_or_licences_after_the_freeze(record: TransferRecord) -> None:
    rules = record.head.rules
    opponents = next(each for each in Opponents if each is not rules.opponents)
    owls = replace(record.entrants[0].submissions[0], licence="GPL-3.0-only")
    changed = [
        *(replace(record.head, **each) for each in ({"kind": "development"}, {"rules_version": 2}, {"seed": 7})),
        replace(record.head, rules=replace(rules, opponents=opponents)),
    ]
    records = [replace(record, head=head) for head in changed]
    licensed = replace(record, entrants=[replace(record.entrants[0], submissions=(owls,)), *record.entrants[1:]])
    for each in (*records, licensed):
        (problem,) = verify(sign(body(each), SEED), public_key(SEED)).problems
        assert problem.text == "the commitment to the field does not match the entrants and the rules"
        assert verify(sign(body(committed(each)), SEED), public_key(SEED)).ok


@pytest.mark.parametrize("name", ["1.jsonl", "2.jsonl", "3.gauntlet"])
def test_a_bundle_that_an_earlier_version_wrote_still_verifies(name: str) -> None:
    with (Path(__file__).parent / f"written_by_version_{name}").open("rb") as file:
        assert format_of_bundle(file) == "transfer"
        assert verify(file, public_key(SEED)).problems == ()
