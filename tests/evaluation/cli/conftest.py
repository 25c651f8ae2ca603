"""The command line as a test calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.cli import main
from evaluation.formats.query.catalogue import find_baseline


@pytest.fixture
def gauntlet(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs `gauntlet` with these words; exit status, standard output, standard error."""

    def run(*words: object) -> tuple[int, str, str]:
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:  # argparse ends wrong usage this way
            status = int(stop.code or 0)
        captured = capfd.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def path_of() -> Callable[[str], Path]:
    """The repository of a bundled submission."""
    return lambda name: find_baseline(name).repository()


@pytest.fixture
def play(
    gauntlet: Callable[..., tuple[int, str, str]], path_of: Callable[[str], Path], tmp_path: Path
) -> Callable[..., dict[str, Any]]:
    """Plays two bundled submissions on few samples with a small budget; what result.json holds."""

    def run(model: str, attack: str, *words: object, out: str = "out") -> dict[str, Any]:
        folder = tmp_path / out
        options = ("--samples", 4, "--budget", 60, "--out", folder)
        status, _, err = gauntlet("play", "--model", path_of(model), "--attack", path_of(attack), *options, *words)
        assert status == 0, err
        loaded: dict[str, Any] = json.loads((folder / "result.json").read_text())
        return loaded

    return run
