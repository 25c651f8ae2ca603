"""The bundle of a round of the transfer format: written, read, and verified against what is changed in it."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from array import array
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest

from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.bundle.canonical_json import commitment_of, encode
from evaluation.bundle.key_succession import public_key
from evaluation.bundle.sample_hash import salted_hash
from evaluation.bundle.signature_check import Report
from evaluation.bundle.signing import sign
from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.registry import format_of_bundle
from evaluation.formats.transfer.bundle.image_archive_check import check_archive
from evaluation.formats.transfer.bundle.reader import TransferBundle, read
from evaluation.formats.transfer.bundle.verify import verify
from evaluation.formats.transfer.bundle.writer import (
    OF_LINES,
    BundleAttackRun,
    BundleBatch,
    BundleEntrant,
    BundleLabels,
    TransferHead,
    TransferRecord,
    places_of,
    transfer_field_commitment,
)
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.runner.attack_output_reader import pixel_hash
from evaluation.formats.transfer.runner.batches import png
from tests.evaluation.bundle.bodies import body, body_of, decode

Lines: TypeAlias = list[dict[str, Any]]

SEED = bytes(range(32))
RULES = TransferRules(shape=ImageShape(8, 8, 3), classes=10, batch_images=2, epsilons=(8, 16))


def sha(number: int) -> str:
    return f"{number:064x}"


def submission(team: str) -> BundleSubmission:
    return BundleSubmission(team, "c" * 40, f"{team}'s", "MIT", eligible=True)


def given_labels(batches: Iterable[Iterable[int]], reasons: tuple[str, ...]) -> BundleLabels:
    return BundleLabels(array("h", [label for batch in batches for label in batch]), reasons)


@pytest.fixture
def record() -> TransferRecord:
    """Three images in two batches; two attacks, one targeted, a baseline, and two defences of different strength."""
    entrants = [
        BundleEntrant(TransferTrack.ATTACK, "strong", "", (submission("owls"), submission("bats"))),
        BundleEntrant(TransferTrack.ATTACK, "noop", "noop", ()),
        BundleEntrant(TransferTrack.TARGETED_ATTACK, "aimed", "", (submission("owls"),)),
        BundleEntrant(TransferTrack.DEFENCE, "good", "", (submission("bats"),)),
        BundleEntrant(TransferTrack.DEFENCE, "weak", "", (submission("owls"),)),
    ]
    batches = [BundleBatch(8, (sha(1), sha(2)), (1, 2), (3, 4)), BundleBatch(16, (sha(3),), (5,), (6,))]
    runs = {
        (attack, number): BundleAttackRun(hashes, "", sha(100 + 10 * index + number))
        for index, attack in enumerate(("strong", "noop", "aimed"))
        for number, hashes in enumerate(((sha(10 + index), sha(20 + index)), (sha(30 + index),)))
    }
    runs["aimed", 1] = BundleAttackRun(("",), "too_slow", sha(900))
    given = {
        ("strong", "good"): ((1, 0), (5,)),
        ("strong", "weak"): ((0, 0), (-1,)),
        ("noop", "good"): ((1, 2), (5,)),
        ("noop", "weak"): ((1, 0), (5,)),
        ("aimed", "good"): ((1, 2), (-1,)),
        ("aimed", "weak"): ((3, 2), (-1,)),
    }
    head = TransferHead(
        "transfer", 1, "Final", "final", 1, RULES, 7, commitment_of([sha(1), sha(2), sha(3)]), "5" * 64, "", OF_LINES
    )
    return TransferRecord(
        replace(head, field_commitment=transfer_field_commitment(head, 3, entrants)),
        batches,
        entrants,
        runs,
        {pair: given_labels(labels, ("", "")) for pair, labels in given.items()},
    )  # fmt: skip


def of(lines: Lines, kind: str, number: int = 0) -> dict[str, Any]:
    return [line for line in lines if line["kind"] == kind][number]


def checked(record: TransferRecord, change: Callable[[Lines], object]) -> Report:
    """Change the lines, sign them again, and verify."""
    lines = list(decode(body(record)))
    change(lines)
    return verify(sign(encode(lines), SEED), public_key(SEED))


def test_a_written_round_is_read_back_and_verifies_with_its_places(record: TransferRecord) -> None:
    assert format_of_bundle(io.BytesIO(body(record))) == "transfer"
    assert read(body_of(body(record))).record == record
    head = record.head
    report = verify(sign(body(record), SEED), public_key(SEED), samples=head.commitment, field=head.field_commitment)
    assert report.problems == ()
    assert report.summary[1:3] == ("3 attacks, 2 defences, 2 teams", "3 samples in 2 batches, 18 labels")
    assert {each.standing.name: each.place for each in places_of(record)} == {
        "strong": 1, "noop": None, "aimed": 1, "good": 1, "weak": 2,
    }  # fmt: skip


def test_the_released_images_show_a_changed_label_and_target(record: TransferRecord) -> None:
    salt, image = "salt", np.zeros((8, 8, 3), np.uint8)
    rows = [(1, 3), (2, 4), (5, 6)]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("commitment.json", json.dumps({"salt": salt}))
        table = [f"{number},{label},{target}" for number, (label, target) in enumerate(rows)]
        archive.writestr("samples.csv", "\n".join(["number,label,target", *table]))
        for number in range(3):
            archive.writestr(f"images/{number:05d}.png", png(image))
    hashes = [salted_hash(Sample(number, image, *row), salt) for number, row in enumerate(rows)]
    batches = [
        replace(record.batches[0], hashes=tuple(hashes[:2])),
        replace(record.batches[1], hashes=tuple(hashes[2:])),
    ]
    committed = replace(record, head=replace(record.head, commitment=commitment_of(hashes)), batches=batches)

    def problems(changed: TransferRecord) -> list[tuple[int, str]]:
        report = verify(sign(body(changed), SEED), images=[("images.zip", file)])
        return [(problem.line, problem.text) for problem in report.problems]

    assert problems(committed) == []
    first = replace(batches[0], labels=(1, 9), targets=(8, 4))
    assert problems(replace(committed, batches=[first, batches[1]])) == [
        (2, "images.zip: sample 0 has the target 3, and in the bundle 8"),
        (2, "images.zip: sample 1 has the label 2, and in the bundle 9"),
    ]


def test_released_images_that_no_site_wrote_cannot_be_read(record: TransferRecord) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("commitment.json", '{"salt": ""}')
        archive.writestr("samples.csv", "number,label,target\n0,99999999999,1")
        archive.writestr("images/00000.png", png(np.zeros((8, 8, 3), np.uint8)))
    problems = verify(sign(body(record), SEED), images=[("images.zip", file)]).problems
    assert problems[0].text == "images.zip: it has 1 samples, and the bundle 3"
    assert problems[1].text.startswith("images.zip cannot be read")


def test_attacks_with_equal_images_share_an_archive_that_is_checked_for_each(record: TransferRecord) -> None:
    image = np.zeros((8, 8, 3), np.uint8)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("00000.png", png(image))
    digest = hashlib.sha256(file.getvalue()).hexdigest()
    runs = {
        ("wrong", 0): BundleAttackRun((sha(1),), "", digest),
        ("right", 0): BundleAttackRun((pixel_hash(image),), "", digest),
    }
    bundle = TransferBundle(
        replace(record, attack_runs=runs), (), {pair: line for line, pair in enumerate(runs, start=5)}
    )
    assert [line for line, _ in check_archive(bundle, {}, "any.zip", file)] == [5]


def test_an_image_out_of_the_ball_of_its_batch_is_named(record: TransferRecord) -> None:
    clean = dict.fromkeys(range(3), np.zeros((8, 8, 3), np.uint8))
    for batch, (inside, outside) in enumerate(((8, 9), (16, 17))):
        found = []
        for value in (inside, outside):
            image, file = np.full((8, 8, 3), value, np.uint8), io.BytesIO()
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("00000.png", png(image))
            run = BundleAttackRun((pixel_hash(image),), "", hashlib.sha256(file.getvalue()).hexdigest())
            bundle = TransferBundle(replace(record, attack_runs={("a", batch): run}), (), {("a", batch): 5})
            found.append(list(check_archive(bundle, clean, "a.zip", file)))
        assert found == [[], [(5, f"a.zip: 00000.png is farther than {inside} from the clean image")]]


def test_a_baseline_takes_no_place(record: TransferRecord) -> None:
    """Even if it is the best of its track."""
    for defence in ("good", "weak"):
        record.labels["noop", defence], record.labels["strong", defence] = (  # type: ignore[index]
            record.labels["strong", defence],
            record.labels["noop", defence],
        )
    places = [(each.standing.name, each.place) for each in places_of(record)]
    assert places[:2] == [("noop", None), ("strong", 1)]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda lines: of(lines, "labels", 4)["labels"][0].__setitem__(1, 2),
            'standing of "strong" in the track attack: ',
        ),
        (lambda lines: of(lines, "standing").update(score=0.25), "score is 0.25, but the labels make it"),
        (lambda lines: of(lines, "standing", 4).update(place=1), "place is 1, but the labels make it 2"),
        (lambda lines: of(lines, "batch")["hashes"].__setitem__(0, sha(4)), "the commitment does not match the hashes"),
        (lambda lines: of(lines, "batch").update(epsilon=16), "its epsilon must be 8, as the rules and the seed say"),
        (lambda lines: of(lines, "attack", 2)["hashes"].__setitem__(0, ""), "made must be 1, the number of its hashes"),
        (lambda lines: of(lines, "attack").update(reason="bored"), '"bored" is not a reason'),
        (
            lambda lines: of(lines, "labels")["labels"][1].__setitem__(0, 6),
            "image 0 of batch 1 was not made, so it cannot have a label",
        ),
        (
            lambda lines: of(lines, "labels")["labels"][0].__setitem__(0, 11),
            "labels must be a whole number from -1 to 10",
        ),
        (
            lambda lines: lines.remove(of(lines, "labels", 5)),
            'the results are incomplete: "weak" against "strong" is missing',
        ),
        (
            lambda lines: lines.remove(of(lines, "attack")),
            'the results are incomplete: "aimed" on batch 0 is missing',
        ),
        (lambda lines: lines.remove(of(lines, "batch", 1)), "its samples make 2 batches, but 1 follow"),
        (lambda lines: lines.remove(of(lines, "standing", 4)), "a line is missing after it"),
        (lambda lines: lines.append(of(lines, "standing", 4)), "this line does not follow from the labels"),
        (
            lambda lines: of(lines, "entrant")["submissions"].pop(),
            "the commitment to the field does not match the entrants and the rules",
        ),
        (lambda lines: of(lines, "head")["rules"].update(opponents="all"), "its rules cannot be read"),
        (lambda lines: of(lines, "head").update(version=5), "its version is not from 1 to 4"),
    ],
)
def test_what_does_not_fit_is_named_although_it_is_signed(
    record: TransferRecord, change: Callable[[Lines], object], problem: str
) -> None:
    report = checked(record, change)
    assert not report.ok
    assert problem in report.problems[0].text


def larger(record: TransferRecord, version: int) -> TransferRecord:
    """Return the record with twelve images in six batches; `weak` labels half of them right, `good` all but one."""
    hashes = tuple(sha(number) for number in range(1, 13))
    batches = [
        BundleBatch((8, 16)[number % 2], hashes[2 * number : 2 * number + 2], (1, 1), (3, 3)) for number in range(6)
    ]
    attacks = [entrant.player for entrant in record.attacks]
    runs = {
        (attack, number): BundleAttackRun((sha(100 * index + number), sha(200 + number)), "", sha(300 + number))
        for index, attack in enumerate(attacks, start=5)
        for number in range(6)
    }
    labels = {"good": (*((1, 1),) * 5, (1, 0)), "weak": (*((1, 0),) * 5, (0, 0))}
    given = {(attack, defence): given_labels(labels[defence], ("",) * 6) for attack in attacks for defence in labels}
    head = replace(record.head, commitment=commitment_of(hashes), version=version)
    return replace(record, head=head, batches=batches, attack_runs=runs, labels=given)


def test_a_standing_has_its_interval_and_that_of_its_place(record: TransferRecord) -> None:
    written = larger(record, 2)
    assert read(body_of(body(written))).record == written
    lines = [line for line in decode(body(written)) if line["kind"] == "standing"]
    assert [(line["player"], line["rank_low"], line["rank_high"]) for line in lines] == [
        ("noop", None, None), ("strong", 1, 1), ("aimed", 1, 1), ("good", 1, 1), ("weak", 2, 2),
    ]  # fmt: skip
    assert all(line["low"] <= line["score"] < line["high"] for line in lines)
    assert verify(sign(body(written), SEED), public_key(SEED)).ok


@pytest.mark.parametrize("name", ["low", "high", "rank_low", "rank_high"])
def test_a_changed_interval_is_named_although_it_is_signed(record: TransferRecord, name: str) -> None:
    report = checked(larger(record, 2), lambda lines: of(lines, "standing", 3).update({name: 0}))
    assert [f"{name} is 0, but the labels make it" in problem.text for problem in report.problems] == [True]


def test_a_bundle_of_version_1_has_no_intervals_and_is_still_verified(record: TransferRecord) -> None:
    content = body(larger(record, 1))
    assert not any("low" in line for line in decode(content))
    assert verify(sign(content, SEED), public_key(SEED)).ok
    report = checked(larger(record, 1), lambda lines: of(lines, "standing").update(low=0.5))
    assert "it has unknown fields" in report.problems[0].text


@pytest.mark.parametrize("kind", ["attack", "labels", "standing"])
def test_a_changed_byte_is_not_what_was_signed(record: TransferRecord, kind: str) -> None:
    signed = sign(body(record), SEED)
    number = next(n for n, line in enumerate(decode(signed), start=1) if line["kind"] == kind)
    lines = signed.split(b"\n")
    lines[number - 1] = lines[number - 1].replace(b"1", b"2", 1)
    report = verify(b"\n".join(lines), public_key(SEED))
    assert (number, "it is not the line that was signed") in report.problems


def test_another_key_and_other_commitments_are_named(record: TransferRecord) -> None:
    signed = sign(body(record), SEED)
    report = verify(signed, public_key(bytes(32)), samples="0" * 64, field="1" * 64)
    texts = [problem.text for problem in report.problems]
    assert "neither the given key nor a successor" in texts[0]
    assert [text[:21] for text in texts[1:]] == ["the commitment to the"] * 2


def test_a_round_that_cannot_be_written_is_rejected(record: TransferRecord) -> None:
    unfinished = replace(record, labels={})
    with pytest.raises(ValueError, match="is missing"):
        body(unfinished)
