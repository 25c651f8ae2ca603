"""Bundles of the curves format: the released images belong to them, and no number ends the verification."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from PIL import Image as Picture

from evaluation.bundle.canonical_json import commitment_of, encode
from evaluation.bundle.sample_hash import salted_hash
from evaluation.bundle.signature_check import Report
from evaluation.bundle.signing import sign
from evaluation.domain.samples import Sample
from evaluation.formats.curves.bundle.verify import commitment_to_field, verify

SAMPLES = [Sample(number, np.full((4, 4, 3), number, np.uint8), number, 1 - number) for number in range(2)]
RULES = {
    "attacks": [{"name": "bim", "goal": "untargeted", "norm": "linf", "queries": 0}],
    "budget_linf": 0.03,
}


NAMED = {"version": 2, "competition": "digits", "round": 3}


def bundle(
    rules: dict[str, Any] = RULES, knowledge: str = "white-box", named: Mapping[str, Any] = {}, **benchmark: Any
) -> bytes:
    """Return a signed bundle of one model, which the attack fooled at once on both images."""
    numbers = {"accuracy": 0.0, "clean_accuracy": 1.0, "median_distance": 0.01}
    threats = [{"knowledge": knowledge, "goal": "untargeted", "norm": "linf", **numbers}]
    model = {"kind": "model", "team": "owls", "commit": "c", "licence": "MIT", "threat_models": threats}
    head = {
        **named, "kind": "round", "salt": "s",
        "samples": commitment_of([salted_hash(each, "salt") for each in SAMPLES]),
        "rules": rules, "labels": [each.label for each in SAMPLES], "field": commitment_to_field(rules, [model], "s"),
    }  # fmt: skip
    played = {
        "kind": "benchmark", "team": "owls", "attack": "bim", "goal": "untargeted", "norm": "linf", "queries": 0,
        "knowledge": knowledge, "reason": "", "right": [True, True], "distances": [0.01, 0.01],
    }  # fmt: skip
    return sign(encode([head, {**model, "value": 0.0, "place": 1}, played | benchmark]), bytes(32))


def archive(samples: list[Sample], salt: str = "salt") -> io.BytesIO:
    """Return the archive of the released images, as the site writes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        written.writestr("commitment.json", json.dumps({"salt": salt}))
        rows = [f"{each.number},{each.label},{each.target}\n" for each in samples]
        written.writestr("samples.csv", "".join(["number,label,target\n", *rows]))
        for each in samples:
            picture = io.BytesIO()
            Picture.fromarray(each.image).save(picture, "png")
            written.writestr(f"images/{each.number:05d}.png", picture.getvalue())
    return file


def report_on(file: io.BytesIO) -> Report:
    return verify(bundle(), images=[("images.zip", file)])


def test_the_released_images_are_those_of_the_commitment() -> None:
    assert report_on(archive(SAMPLES)).problems == ()


def test_other_images_are_named() -> None:
    other = [SAMPLES[0], Sample(1, SAMPLES[0].image, 1, 0)]
    for changed in (archive(other), archive(SAMPLES, "pepper")):
        texts = [problem.text for problem in report_on(changed).problems]
        assert texts == ["images.zip: its samples are not those of the commitment"]
    assert "images.zip: its labels are not those of the bundle" in str(report_on(archive(SAMPLES[:1])).problems)
    assert "images.zip cannot be read" in str(report_on(io.BytesIO(b"PK")).problems)


def test_a_bundle_names_its_round_and_the_seed_of_each_benchmark() -> None:
    report = verify(bundle(named=NAMED, seed=str(2**63 - 1)))
    assert (report.problems, report.summary[0]) == ((), 'round 3 of "digits": 1 models, 1 benchmarks')
    for named, seed, text in (
        (NAMED | {"version": 3}, "1", "it has the version 3, and this one reads up to 2"),
        (NAMED | {"competition": 3}, "1", "it does not name its competition"),
        (NAMED | {"round": "3"}, "1", "the number of its round"),
        (NAMED, "01", "its seed is not text of a whole number of 63 bits"),
        (NAMED, str(2**63), "its seed is not text"),
        (NAMED, 1, "its seed is not text"),
        (NAMED, "one", "invalid literal"),
    ):
        assert text in str(verify(bundle(named=named, seed=seed)).problems)
    assert "KeyError('seed')" in str(verify(bundle(named=NAMED)).problems)


def test_an_attack_counts_under_its_own_threat_model_alone() -> None:
    problems = verify(bundle(knowledge="decision")).problems
    assert 'bim is a white-box attack, not "decision"' in str(problems)


def test_the_report_names_commitments_and_snapshot() -> None:
    signed = bundle()
    snapshot = sha256(b"".join(signed.splitlines(keepends=True)[:-1])).hexdigest()
    head = json.loads(signed.splitlines()[0])
    assert verify(signed).summary[1:4] == (
        f"commitment to the samples {head['samples']}", f"commitment to the field {head['field']}",
        f"snapshot {snapshot}",
    )  # fmt: skip


def test_there_are_no_perturbed_images() -> None:
    found = verify(bundle(), perturbed=[("1.zip", io.BytesIO())]).problems
    assert "1.zip: rounds of the curves format have no perturbed images" in str(found)


@pytest.mark.parametrize(
    "signed", [bundle(distances=[10**400, 0.01]), bundle({**RULES, "budget_linf": 10**400})], ids=["distance", "budget"]
)
def test_numbers_that_are_too_large_are_a_problem(signed: bytes) -> None:
    assert "OverflowError" in str(verify(signed).problems)
