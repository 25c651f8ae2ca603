"""Limits of a build that engines do not enforce: its time, and its disk space in bytes and files."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.layer_check import DiskSpace
from evaluation.domain.errors import BuildRefusal, Fault, SlowBuildRefusal

LEAST_FREE_BYTES = 512 << 20
"""Free space on the engine's disk that a build needs to start; a build that leaves less than half of it is stopped."""
LEAST_FREE_FILES = 50_000
"""The same in files: a file system holds a fixed number of them, and empty files take no other space."""


class BuildWatch:
    """Called about twice a second while a build runs; raises to stop it."""

    def __init__(self, settings: BuildSettings, disk: Path | None, used: Callable[[], DiskSpace]) -> None:
        """Take the engine's data directory as `disk` (None: on another host); `used` measures the build."""
        self._settings = settings
        self._disk = disk
        self._used = used
        self._deadline = time.monotonic() + settings.seconds
        # where the disk had room when the build started, the host is not the cause of a full disk
        self._floor = self._below(free_space(disk)) if disk else DiskSpace()
        self._counting = False

    def __call__(self) -> None:
        if time.monotonic() > self._deadline:
            raise SlowBuildRefusal(
                f"the build took longer than {self._settings.seconds:g} s and was stopped",
                fix="install less, or commit the result of slow steps to the repository",
            )
        # engines do not limit a volume, so a build that fills the disk is stopped here. Twice the limit, because
        # files that a later step deletes do not count. Others use the disk, too, so the build itself is measured
        if self._disk and not self._counting and not free_space(self._disk).covers(self._floor):
            self._counting = True
            used = self._used()
            self._counting = False
            if not limits(self._settings).covers(used):
                raise too_large("the build filled the engine's disk", self._settings)
            if not free_space(self._disk).covers(_least(2)):
                raise Fault("the engine's disk filled up during a build, and the build is not the cause")
            self._floor = self._below(self._floor)

    def _below(self, space: DiskSpace) -> DiskSpace:
        most, least = limits(self._settings), _least(2)
        return DiskSpace(max(space.files - 2 * most.files, least.files), max(space.bytes - 2 * most.bytes, least.bytes))


def limits(settings: BuildSettings) -> DiskSpace:
    """Return the disk space that an image may use beyond its base image."""
    return DiskSpace(settings.max_image_files, settings.max_image_bytes)


def too_large(what: str, settings: BuildSettings) -> BuildRefusal:
    """Return the refusal of a build that used more disk space than allowed."""
    return BuildRefusal(
        f"{what}; at most {settings.max_image_bytes:,} bytes and {settings.max_image_files:,} files are allowed",
        fix="use the packages of the base image, install less, and delete temporary files in the step that made them",
    )


def check_disk(disk: Path | None) -> None:
    """Raise `Fault` if the engine's disk has too little space for a build."""
    if disk and not (free := free_space(disk)).covers(_least()):
        raise Fault(
            f"the engine's disk is full: {free.bytes >> 20} MiB and {free.files:,} files are free, "
            f"{LEAST_FREE_BYTES >> 20} MiB and {LEAST_FREE_FILES:,} files are needed"
        )


def free_space(disk: Path) -> DiskSpace:
    """Return what is free on the file system of `disk`."""
    found = os.statvfs(disk)
    # some file systems make the entries of files as they are needed, and report none
    return DiskSpace(found.f_favail if found.f_files else sys.maxsize, found.f_bavail * found.f_frsize)


def _least(part: int = 1) -> DiskSpace:
    return DiskSpace(LEAST_FREE_FILES // part, LEAST_FREE_BYTES // part)
