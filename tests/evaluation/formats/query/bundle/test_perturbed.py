"""Released archives of perturbed images must match the signed results."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Picture

from evaluation.bundle.key_succession import public_key
from evaluation.bundle.signing import sign
from evaluation.cli import main
from evaluation.formats.query.bundle.perturbed_image_check import check_pair
from evaluation.formats.query.bundle.reader import read
from evaluation.formats.query.bundle.verify import verify
from evaluation.formats.query.bundle.writer import BundlePiece, Record
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.tournament.round_state import SampleRow
from tests.evaluation.bundle.bodies import body, body_of

PAIR = ("model-11", "attack-00")
OTHER = ("model-10", "attack-00")
Files = dict[str, bytes]


def piece(first: int, end: int, shade: int) -> bytes:
    file = io.BytesIO()
    images = np.full((end - first, 4, 4, 3), shade, np.uint8)
    np.savez(file, sample=np.arange(first, end, dtype=np.uint16), perturbed=images)
    return file.getvalue()


def picture(shade: int, size: int = 4) -> bytes:
    file = io.BytesIO()
    Picture.fromarray(np.full((size, size, 3), shade, np.uint8)).save(file, "png")
    return file.getvalue()


PIECES = {0: piece(0, 10, 7), 1: piece(10, 16, 7)}


def table(record: Record, pair: tuple[str, str]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("sample", "outcome", "distance", "queries", "found_label"))
    rows = record.facts.results[pair].items()
    writer.writerows((number, row.outcome, row.distance, row.queries, 4) for number, row in rows)
    return file.getvalue().encode()


@pytest.fixture(scope="module")
def record(played: Record) -> Record:
    """The round, with the digests of real pieces for two pairs."""
    own = tuple(BundlePiece(end, sha256(PIECES[number]).hexdigest()) for number, end in ((0, 10), (1, 16)))
    return replace(played, pieces={**played.pieces, PAIR: own, OTHER: own})


@pytest.fixture
def files(record: Record) -> Files:
    """The files of the archive of `PAIR`."""
    return {
        "pair.json": json.dumps({"model": PAIR[0], "attack": PAIR[1]}).encode(),
        "samples.csv": table(record, PAIR),
        **{f"pieces/{number:05d}.npz": content for number, content in PIECES.items()},
        **{f"images/{sample:05d}.png": picture(7) for sample in range(16)},
    }


def archive(files: Files) -> io.BytesIO:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return packed


def problems(record: Record, seed: bytes, packed: io.BytesIO) -> list[str]:
    report = verify(sign(body(record), seed), public_key(seed), perturbed=[("a.zip", packed)])
    return [problem.text for problem in report.problems]


def test_archives_of_the_released_images_match_the_signed_results(record: Record, seed: bytes, files: Files) -> None:
    assert problems(record, seed, archive(files)) == []


def test_a_distance_that_is_not_that_of_the_image_is_named(record: Record, files: Files) -> None:
    bundle, clean = read(body_of(body(record))), np.full((4, 4, 3), 60, np.uint8)
    rows = bundle.record.facts.results[PAIR]
    of_the_images = SampleRow(Outcome.ADVERSARIAL, 53 * 48**0.5 / 255, 1)
    rows.update(dict.fromkeys(rows, of_the_images))  # type: ignore[attr-defined]
    rows[5] = replace(of_the_images, distance=1.0)  # type: ignore[index]
    rows[6] = SampleRow(Outcome.FAILED, 40.0, 1)  # type: ignore[index]
    files["samples.csv"] = table(bundle.record, PAIR)
    (problem,) = check_pair(bundle, dict.fromkeys(range(16), clean), "a.zip", archive(files))
    assert problem[1].startswith("a.zip: images/00005.png is at the distance 1.43997")
    assert list(check_pair(bundle, {}, "a.zip", archive(files))) == []


CHEATS: dict[str, tuple[Callable[[Files], Any], str]] = {
    "an image is replaced": (lambda of: of.update({"images/00003.png": picture(8)}), "images/00003.png is not the"),
    "an image of another size": (lambda of: of.update({"images/00003.png": picture(7, 5)}), "00003.png is not the"),
    "a piece is replaced": (lambda of: of.update({"pieces/00001.npz": piece(10, 16, 8)}), "whose digest was signed"),
    "a piece is left out": (lambda of: of.pop("pieces/00001.npz"), "cannot be read"),
    "an image is left out": (lambda of: of.pop("images/00015.png"), "cannot be read"),
    "a file is added": (lambda of: of.update({"images/00016.png": picture(7)}), "that were not signed"),
    "another outcome": (lambda of: of.update({"samples.csv": of["samples.csv"] + b"16,failed,1.0,1,\n"}), "the rows"),
    "another pair": (
        lambda of: of.update({"pair.json": json.dumps({"model": OTHER[0], "attack": OTHER[1]}).encode()}),
        "differs from the rows of the results",
    ),
    "a pair that did not play": (
        lambda of: of.update({"pair.json": json.dumps({"model": "model-99", "attack": "attack-00"}).encode()}),
        "there are no results of",
    ),
    "a pair that is no object": (lambda of: of.update({"pair.json": b"[]"}), "cannot be read"),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_it_rejects(record: Record, seed: bytes, files: Files, cheat: str) -> None:
    change, message = CHEATS[cheat]
    change(files)
    texts = problems(record, seed, archive(files))
    assert any(message in text and text.startswith("a.zip") for text in texts), texts


def test_it_rejects_what_is_no_archive(record: Record, seed: bytes) -> None:
    assert "cannot be read" in problems(record, seed, io.BytesIO(b"PK\x03\x04" + bytes(99)))[0]


def test_the_command_takes_archives_and_commitments(
    record: Record, seed: bytes, files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, packed = tmp_path / "bundle.jsonl", tmp_path / "perturbed-17.zip"
    bundle.write_bytes(sign(body(record), seed))
    packed.write_bytes(archive(files).getvalue())
    public = ["--samples", record.head.commitment, "--field", record.head.field_commitment]
    command = ["verify", str(bundle), "--key", public_key(seed), *public, "--perturbed", str(packed)]
    assert main(command) == 0
    packed.write_bytes(archive({**files, "images/00003.png": picture(8)}).getvalue())
    assert main(command) == 3
    assert "perturbed-17.zip: images/00003.png is not the image of the piece" in capsys.readouterr().out
    assert main(["verify", str(bundle), "--field", "0" * 64]) == 3
    assert "the commitment to the field is not the given one" in capsys.readouterr().out
    assert main(["verify", str(bundle), "--perturbed", str(tmp_path / "nowhere.zip")]) == 2
