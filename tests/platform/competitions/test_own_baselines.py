"""Directories of organisers as baselines of a competition's file."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demo
from competitions.baseline_files import baseline_digest, baseline_files
from competitions.import_warnings import import_notes
from competitions.models import Track
from competitions.services import export_competition, import_competition
from core.errors import Refusal
from evaluation.builder.tree_digest import tree_digest
from evaluation.formats.registry import find_bundled
from evaluation.training.start_images import STARTS
from formats.query.matches.player_builds import baseline_player

DIGITS = Path(demo.__file__).with_name("digits.toml").read_text(encoding="utf-8")
TRANSFER = Path(__file__).parents[3] / "competitions" / "digits-transfer.toml"


@pytest.fixture
def attack(tmp_path: Path) -> Path:
    """A directory with a submission to the targeted track, and start images of the digits."""
    copied = tmp_path / "interpolation-of-ours"
    find_bundled("targeted-interpolation").assemble(copied)
    return copied


def document(track: str, *baselines: str) -> dict[str, Any]:
    """Return the demo's competition with these baselines of a track."""
    read = tomllib.loads(DIGITS)
    read["tracks"][track]["baselines"] = list(baselines)
    return read


def targeted(directory: Path) -> Track:
    """Return the targeted track of the demo's competition with the directory as baseline."""
    return import_competition(document("targeted", str(directory))).tracks.get(name="targeted")


def write_starts(directory: Path, images: Any, labels: Any) -> None:
    np.savez(directory / STARTS, images=np.asarray(images), labels=np.asarray(labels))


def test_a_directory_is_built_as_a_baseline_on_any_host(db: None, attack: Path) -> None:
    given = document("targeted", "targeted-boundary", str(attack))
    made = import_competition(given)
    track = made.tracks.get(name="targeted")
    assert track.baselines == ["targeted-boundary", "interpolation-of-ours"]
    assert export_competition(made)["tracks"]["targeted"]["baselines"] == ["targeted-boundary", str(attack)]
    assert import_notes(made)
    digest = tree_digest(attack)
    shutil.rmtree(attack)  # as on the hosts of workers
    assert baseline_digest(track, "interpolation-of-ours") == digest
    player = baseline_player(track, "interpolation-of-ours", lambda line: None)
    assert (player.baseline, player.track_name) == ("interpolation-of-ours", "targeted")
    files = baseline_files(track, "interpolation-of-ours").repository()
    (files / "main.py").write_text("raise SystemExit")
    assert tree_digest(baseline_files(track, "interpolation-of-ours").repository()) == digest, "it is unpacked again"
    assert import_competition(given).tracks.get(name="targeted").own_baselines == track.own_baselines


def test_the_name_of_a_baseline_stays_with_its_files(db: None, attack: Path) -> None:
    first = targeted(attack).own_baselines
    (attack / "README.md").write_text("Changed.")
    with pytest.raises(Refusal, match="holds other files than at the import of 'interpolation-of-ours'"):
        targeted(attack)
    import_competition(document("targeted"))
    track = import_competition(document("targeted")).tracks.get(name="targeted")
    assert (track.baselines, track.own_baselines) == ([], first), "matches on it can still be played again"


def test_a_directory_is_a_baseline_of_the_transfer_format(db: None, tmp_path: Path) -> None:
    find_bundled("fgsm").assemble(tmp_path / "ours")
    read = tomllib.loads(TRANSFER.read_text(encoding="utf-8"))
    read["tracks"]["attack"]["baselines"] = ["noop", str(tmp_path / "ours")]
    track = import_competition(read).tracks.get(name="attack")
    assert baseline_digest(track, "ours") == tree_digest(tmp_path / "ours")
    read["tracks"]["defence"]["baselines"] = [str(tmp_path / "ours")]
    with pytest.raises(Refusal, match=r"\[tracks.defence\] baselines: .*ours is a submission to the attack track"):
        import_competition(read)


def test_the_accuracy_of_an_own_model_is_to_be_measured(db: None, tmp_path: Path) -> None:
    find_bundled("numpy-classifier").assemble(tmp_path / "ours")
    notes = import_notes(import_competition(document("model", str(tmp_path / "ours"))))
    assert any(note.startswith("Note: how often ours labels clean images right is not known") for note in notes)


def test_it_rejects_what_is_no_submission_to_the_track(db: None, attack: Path, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"\[tracks.untargeted\] baselines: .*is a submission to the targeted track"):
        import_competition(document("untargeted", str(attack)))
    with pytest.raises(Refusal, match="missing is no directory"):
        targeted(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Refusal, match=r"submission\.toml"):
        targeted(tmp_path / "empty")


@pytest.mark.parametrize("name", ["boundary", "Our Attack"])
def test_it_rejects_a_name_that_is_not_its_own(db: None, attack: Path, tmp_path: Path, name: str) -> None:
    attack.rename(tmp_path / name)
    with pytest.raises(Refusal, match="has no name of its own") as caught:
        import_competition(document("untargeted", str(tmp_path / name)))
    assert "lower-case letters" in caught.value.fix


def test_it_rejects_start_images_of_other_classes_or_sizes(db: None, attack: Path) -> None:
    shape = import_competition(tomllib.loads(DIGITS)).rules_versions.get().values["shape"]
    images = np.zeros((10, *shape), np.uint8)
    for wrong, labels, problem in (
        (np.zeros((10, 32, 32, 3), np.uint8), range(10), "has images of 32 x 32 x 3"),
        (images.astype(np.float32), range(10), "float32"),
        (images, range(1, 11), "has labels from 1 to 10, of 10 classes"),
        (images, [0] * 10, "has no image of 9 of 10 classes"),
        (images, range(5), "has 10 images, but labels of shape"),
    ):
        write_starts(attack, wrong, list(labels))
        with pytest.raises(Refusal, match=problem):
            targeted(attack)
    (attack / STARTS).write_bytes(b"no arrays")
    with pytest.raises(Refusal, match="has no arrays images and labels"):
        targeted(attack)
