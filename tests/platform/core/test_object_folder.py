"""The object store in a folder: it tells an object that is not there from a folder that cannot tell."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from pytest_django import Settings

from core import object_store
from core.errors import HostFault

ABSENT = "0" * 64


def test_an_object_that_is_not_there_has_no_size() -> None:
    stored = object_store.put(b"three")
    assert (object_store.size(stored), object_store.size(ABSENT)) == (5, None)


def test_a_folder_that_is_no_longer_mounted_does_not_say_that_an_object_is_missing(settings: Settings) -> None:
    object_store.put(b"three")
    folder = Path(settings.STORAGES["objects"]["OPTIONS"]["location"])
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(HostFault, match="cannot be looked up"):
        object_store.size(ABSENT)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ESTALE])
def test_a_folder_that_cannot_be_read_does_not_either(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def fail(path: Path) -> None:
        raise OSError(code, "it cannot be read")

    monkeypatch.setattr(Path, "lstat", fail)
    with pytest.raises(HostFault, match="it cannot be read"):
        object_store.size(ABSENT)


class KilledProgram(ContentFile):  # type: ignore[type-arg]
    """Content whose program is killed while it is written."""

    def chunks(self, *args: Any) -> Iterator[bytes]:
        yield b"half"
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_killed_program_has_written_is_removed_after_a_day(settings: Settings) -> None:
    """Layers of images have gigabytes, and each backup would have it, too."""
    object_store.put(b"one")
    folder = Path(settings.STORAGES["objects"]["OPTIONS"]["location"])
    before = set(folder.rglob("*"))
    if (program := os.fork()) == 0:
        storages["objects"].save("aa/bb", KilledProgram(b""))
    os.waitpid(program, 0)
    (left,) = (path for path in folder.rglob("*") if path not in before and path.is_file())
    object_store.put(b"two")
    assert left.exists(), "another program may be writing it"
    yesterday = time.time() - 86_401
    os.utime(left, (yesterday, yesterday))
    object_store.put(b"three")
    assert not left.exists()
