"""Submissions in the layouts of 2017 that the project wrote itself, in the legacy environment."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.domain.samples import Sample
from evaluation.formats.transfer.results import ImageNote, PairCounts
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.player_build import build_player
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.legacy.environment import VARIABLE

REPOSITORIES = Path(__file__).resolve().parents[4] / "repos" / "nips2017"

Build = Callable[[str], TransferPlayer]
Played = Callable[..., TransferResult]


@pytest.fixture
def legacy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A legacy environment with the packages of the tests, whose interpreter is not the engine's."""
    directory = tmp_path / "legacy"
    (directory / "bin").mkdir(parents=True)
    for name in ("python", "python3"):
        (directory / "bin" / name).symlink_to(sys.executable)
    (directory / "pyvenv.cfg").write_text((Path(sys.prefix) / "pyvenv.cfg").read_text())
    packages = Path("lib") / f"python3.{sys.version_info.minor}" / "site-packages"
    (directory / packages.parent).mkdir(parents=True)
    (directory / packages).symlink_to(Path(sys.prefix) / packages)
    monkeypatch.setenv(VARIABLE, str(directory))
    return directory


@pytest.fixture
def build(legacy: Path) -> Build:
    """Builds the look-alike of a name."""
    return lambda name: build_player(REPOSITORIES / name, sandbox="process", on_log=print)


@pytest.mark.parametrize("sandbox", [False], ids=["without bubblewrap"], indirect=True)
def test_submissions_of_2017_change_images_within_the_ball_and_label_them(
    build: Build, played: Played, samples: list[Sample], rules: TransferRules
) -> None:
    result = played(
        [build("saves-floats"), build("steps-along-gradient")],
        [build("loads-a-network")],
        replace(rules, batch_images=5, batch_seconds=120.0),
    )
    assert not [batch.run for batch in result.made if batch.run.reason]
    assert not [batch.run for batch in result.labelled if batch.run.reason]
    assert result.pairs() == [
        PairCounts("saves-floats", "loads-a-network", False, 5, 5, 5, 1),
        PairCounts("steps-along-gradient", "loads-a-network", True, 5, 5, 5, 1, 0),
    ]
    stretched, stepped = result.made
    assert stretched.epsilon == stepped.epsilon == 4
    for index, sample in enumerate(samples):
        low, high = int(sample.image.min()), int(sample.image.max())
        expected = np.clip(np.round((sample.image.astype(float) - low) * 255 / (high - low)), 0, 255)
        assert np.abs(stretched.images[index] - np.clip(expected, sample.image - 4.0, sample.image + 4.0)).max() <= 1
    assert stepped.count(ImageNote.CLIPPED) == 0
    assert all((stepped.images[index] != sample.image).any() for index, sample in enumerate(samples))


def test_python_is_the_interpreter_of_the_legacy_environment(
    legacy: Path, repository: Callable[..., Path], played: Played
) -> None:
    script = (
        f'test "$(command -v python)" = {legacy}/bin/python || exit 9\n'
        f'test "$(command -v python3)" = {legacy}/bin/python3 || exit 8\n'
        "exec python -c 'import collections; collections.Iterable'"
    )
    player = build_player(repository(script), sandbox="process", on_log=print)
    result = played([player], [])
    assert [(batch.run.reason, batch.run.detail) for batch in result.made] == [(None, ""), (None, "")]


def test_submissions_of_today_keep_the_interpreter_of_the_engine(legacy: Path, repository: Callable[..., Path]) -> None:
    source = repository("true")
    assert build_player(source, sandbox="process", on_log=print).legacy is not None
    metadata = source / "metadata.json"
    metadata.write_text(metadata.read_text().replace("some/image:1", "gauntlet-base"))
    assert build_player(source, sandbox="process", on_log=print).legacy is None


def test_without_a_legacy_environment_the_log_says_what_runs_it(repository: Callable[..., Path]) -> None:
    lines: list[str] = []
    assert build_player(repository("true"), sandbox="process", on_log=lines.append).legacy is None
    assert "some/image:1 is not fetched" in lines[-1]


def test_every_replacement_is_a_line_of_the_log(legacy: Path) -> None:
    lines: list[str] = []
    build_player(REPOSITORIES / "saves-floats", sandbox="process", on_log=lines.append)
    assert [line.partition(" is replaced by ")[0] for line in lines] == [
        "attack.py, line 7: numpy",
        "attack.py, line 8: scipy",
        "metadata.json: the container gcr.io/tensorflow/tensorflow:1.1.0",
    ]
