"""System checks of the host that a site starts on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from core.checks import LONGEST_TEMPORARY_DIRECTORY, check_temporary_directory
from evaluation.protocol.listener import Listener


def test_a_temporary_directory_that_is_too_long_for_sockets_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = (f"/{'t' * (LONGEST_TEMPORARY_DIRECTORY - 1 + more)}" for more in (0, 1))
    monkeypatch.setattr(tempfile, "tempdir", short)
    assert check_temporary_directory(None) == []
    monkeypatch.setattr(tempfile, "tempdir", long)
    (error,) = check_temporary_directory(None)
    assert error.id == "core.E001"
    assert long in error.msg
    assert "TMPDIR" in str(error.hint)


def test_the_longest_temporary_directory_has_room_for_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        longest = Path(short) / ("t" * (LONGEST_TEMPORARY_DIRECTORY - len(short) - 1))
        folder = longest / "gauntlet-control-12345678"
        folder.mkdir(parents=True)
        Listener(folder / "socket").close()
