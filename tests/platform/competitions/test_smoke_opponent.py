"""The smoke opponent of a competition's file."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import demo
from competitions.import_warnings import import_notes
from competitions.kept_baseline_directories import unpack_directory
from competitions.models import Competition
from competitions.services import export_competition, import_competition
from core.errors import Refusal
from evaluation.formats.query.catalogue import find_baseline

DIGITS = Path(demo.__file__).with_name("digits.toml").read_text(encoding="utf-8")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A directory with a submission to the model track."""
    copied = tmp_path / "mine"
    find_baseline("numpy-classifier").assemble(copied)
    (copied / "run.sh").write_text("exec python main.py")
    (copied / "run.sh").chmod(0o755)
    return copied


def document(opponent: object) -> dict[str, Any]:
    """Return the demo's competition with an opponent."""
    read = tomllib.loads(DIGITS)
    read["competition"]["smoke_opponent"] = opponent
    return read


def test_a_directory_is_kept_with_all_its_files(db: None, model: Path, tmp_path: Path) -> None:
    made = import_competition(document(str(model)))
    assert export_competition(made)["competition"]["smoke_opponent"] == str(model)
    assert f"The smoke test runs attacks against the model {model}." in import_notes(made)
    unpack_directory(made.smoke_opponent_digest, tmp_path / "again")
    files = {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    assert files == {path.name: path.read_bytes() for path in model.iterdir() if path.name != "__pycache__"}
    assert (tmp_path / "again" / "run.sh").stat().st_mode & 0o111
    assert not (tmp_path / "again" / "main.py").stat().st_mode & 0o111


def test_a_second_import_reads_the_directory_again(db: None, model: Path) -> None:
    first = import_competition(document(str(model))).smoke_opponent_digest
    assert import_competition(document(str(model))).smoke_opponent_digest == first
    (model / "README.md").write_text("Changed.")
    second = import_competition(document(str(model))).smoke_opponent_digest
    assert second != first
    shutil.rmtree(model)
    assert import_competition(document(str(model))).smoke_opponent_digest == second, (
        "the stored files are kept if the directory is missing"
    )
    assert import_competition(tomllib.loads(DIGITS)).smoke_opponent_digest == ""


def test_a_bundled_model_is_named(db: None) -> None:
    made = import_competition(document("plain-resnet"))
    assert (made.smoke_opponent, made.smoke_opponent_digest) == ("plain-resnet", "")
    assert "The smoke test runs attacks against the model plain-resnet." in import_notes(made)


def test_the_digits_use_the_fastest_bundled_model(db: None) -> None:
    assert import_notes(import_competition(tomllib.loads(DIGITS))) == [
        "The smoke test runs attacks against the model numpy-classifier."
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("gone", ""), "neither a bundled model nor a directory"),
        (('track = "model"', 'track = "untargeted"'), "submission to the untargeted track"),
        (("[submission]", "[submission]\ngpu = true"), "needs a GPU"),
        (("[submission]", "[submision]"), r"submission\.toml, line 1"),
    ],
    ids=["no directory", "an attack", "a GPU", "the manifest"],
)
def test_it_rejects_an_invalid_opponent(db: None, model: Path, change: tuple[str, str], named: str) -> None:
    if change[0] == "gone":
        shutil.rmtree(model)
    else:
        manifest = model / "submission.toml"
        manifest.write_text(manifest.read_text().replace(*change))
    with pytest.raises(Refusal, match=named) as caught:
        import_competition(document(str(model)))
    assert caught.value.problem.startswith("[competition] smoke_opponent: ")
    assert caught.value.fix
    assert not Competition.objects.exists()
