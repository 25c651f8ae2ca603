"""Errors about packages that the kit leaves out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.builder import build_pack_detection
from evaluation.builder.build_pack_detection import detect_pack
from evaluation.cli.missing_packages import refusal_of
from evaluation.domain.errors import HostRefusal


def test_a_command_that_needs_pytorch_says_how_to_get_it(
    gauntlet: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("evaluation.training.train")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    status, _, err = gauntlet("train", "digits-cnn", "--out", tmp_path)
    assert status == 2
    assert "this needs torch, which is not installed: it is in the extra `players`" in err
    assert f"{sys.executable} -m pip install foolbox==3.3.4" in err
    assert "gauntlet-arena" not in err, "an index might have a package of this name"


def test_a_command_that_needs_git_says_that_it_is_not_installed(
    gauntlet: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUNTLET_SITE", "http://127.0.0.1:9")
    monkeypatch.setenv("GAUNTLET_TOKEN", "secret")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", str(tmp_path))
    status, _, err = gauntlet("submit", tmp_path)
    assert (status, "this needs git, which is not installed" in err) == (2, True), err
    assert "Traceback" not in err


def test_other_modules_are_errors_of_this_program() -> None:
    assert refusal_of(ModuleNotFoundError("No module named 'x'", name="x")) is None
    assert refusal_of(ModuleNotFoundError("No module named 'django'", name="django")) is None
    assert refusal_of(FileNotFoundError(2, "No such file or directory", "weights")) is None


def test_a_build_that_needs_repo2docker_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "requirements.txt").write_text("numpy\n")
    monkeypatch.setattr(build_pack_detection, "find_spec", lambda name: None)
    assert detect_pack(tmp_path, "3.11") == "lean"
    (tmp_path / "environment.yml").write_text("dependencies: [numpy]\n")
    with pytest.raises(
        HostRefusal, match=r"jupyter-repo2docker, .* is not installed(.|\n)*pip install jupyter-repo2docker"
    ):
        detect_pack(tmp_path, "3.11")
