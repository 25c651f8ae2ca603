"""The files of a release: their content, and equal bytes each time."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image as Picture

from competitions.pseudonyms import public_name
from competitions.sample_store import samples_of
from core import object_store
from formats.query.matches.models import Match
from formats.query.rounds.models import RoundMatch
from formats.query.rounds.pair_archives import pair_zip, pairs_table
from rounds.models import Round, RoundEntry
from rounds.release.release_files import images_zip
from tests.platform.bundle_content import bundle_content


class Final(Protocol):
    """`Published` of the conftest."""

    round: Round
    entries: dict[str, RoundEntry]
    pair: Match
    perturbed: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]


def _rows(content: bytes) -> list[Mapping[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def _picture(content: bytes) -> Any:
    return np.asarray(Picture.open(io.BytesIO(content)))


def test_the_archive_of_images_has_every_sample_with_its_label_and_target(published: Final) -> None:
    with zipfile.ZipFile(io.BytesIO(images_zip(published.round))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    samples = samples_of(published.round.sample_set)
    assert list(files) == [
        "commitment.json",
        "classes.json",
        "samples.csv",
        *(f"images/{number:05d}.png" for number in range(3)),
    ]
    for sample, row in zip(samples, _rows(files["samples.csv"]), strict=True):
        assert (row["number"], row["label"], row["target"]) == tuple(
            str(each) for each in (sample.number, sample.label, sample.target)
        )
        assert np.array_equal(_picture(files[f"images/{sample.number:05d}.png"]), sample.image)


def test_anyone_can_check_the_commitment(published: Final, tmp_path: Path, root: Path) -> None:
    """With the program of the documentation, from the file alone."""
    lines = re.findall(r"```python\n(.*?)```", (root / "docs/bundles.md").read_text(), re.DOTALL)
    (check,) = (each for each in lines if "commitment.json" in each)
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(io.BytesIO(images_zip(published.round))) as archive:
        archive.extractall(folder)
    command = [sys.executable, "-c", check]
    assert json.loads((folder / "commitment.json").read_text())["commitment"] == published.round.commitment
    subprocess.run(command, cwd=folder, check=True)
    (folder / "images/00000.png").write_bytes((folder / "images/00001.png").read_bytes())
    assert subprocess.run(command, cwd=folder, check=False).returncode == 1


def test_a_bundle_of_lines_is_the_outcome_with_a_signature_behind_it(published: Final) -> None:
    body = object_store.get(published.round.outcome)
    bundle = bundle_content(published.round)
    assert bundle.startswith(body)
    assert bundle.count(b"\n") == body.count(b"\n") + 1


def test_the_pairs_and_their_images_are_listed(published: Final) -> None:
    (row,) = _rows(pairs_table(published.round))
    digests = (published.entries[team].player.digest for team in ("owls", "foxes"))
    owls, foxes = (public_name(published.round.competition, digest) for digest in digests)
    assert (row["pair"], row["samples"]) == (str(published.pair.pk), "3")
    assert (row["model"], row["model_teams"], row["attack"], row["attack_teams"]) == (owls, "owls", foxes, "foxes")
    with zipfile.ZipFile(io.BytesIO(pair_zip(published.pair))) as archive:
        reported = _rows(archive.read("samples.csv"))
        assert [each["sample"] for each in reported] == ["0", "1", "2"]
        assert {(each["outcome"], each["distance"], each["found_label"]) for each in reported} == {
            ("adversarial", "1.5", "4")
        }
        for number, image in enumerate(published.perturbed):
            assert np.array_equal(_picture(archive.read(f"images/{number:05d}.png")), image)


def test_they_are_the_same_each_time(published: Final) -> None:
    for make in (images_zip, pairs_table):
        assert make(published.round) == make(published.round)
    assert bundle_content(published.round) == bundle_content(published.round)
    assert pair_zip(published.pair) == pair_zip(published.pair)


def test_a_pair_that_did_not_play_is_left_out(published: Final) -> None:
    RoundMatch.objects.update(samples=0)
    assert _rows(pairs_table(published.round)) == []
