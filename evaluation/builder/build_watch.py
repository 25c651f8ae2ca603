"""Limits of a build that engines do not enforce: its time and its disk space."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from evaluation.builder.settings import BuildSettings
from evaluation.domain.errors import BuildRefusal, Fault, SlowBuildRefusal

LEAST_FREE_BYTES = 512 << 20
"""Free space on the engine's disk that a build needs to start; a build that leaves less than half of it is stopped."""


class BuildWatch:
    """Called about twice a second while a build runs; raises to stop it."""

    def __init__(self, settings: BuildSettings, disk: Path | None, used_bytes: Callable[[], int]) -> None:
        """Take the engine's data directory as `disk` (None: on another host); `used_bytes` measures the build."""
        self._settings = settings
        self._disk = disk
        self._used_bytes = used_bytes
        self._deadline = time.monotonic() + settings.seconds
        self._most = 2 * settings.max_image_bytes
        # where the disk had room when the build started, the host is not the cause of a full disk
        free = shutil.disk_usage(disk).free if disk else 0
        self._floor = max(free - self._most, LEAST_FREE_BYTES // 2)
        self._counting = False

    def __call__(self) -> None:
        if time.monotonic() > self._deadline:
            raise SlowBuildRefusal(
                f"the build took longer than {self._settings.seconds:g} s and was stopped",
                fix="install less, or commit the result of slow steps to the repository",
            )
        # engines do not limit a volume, so a build that fills the disk is stopped here. Twice the limit, because
        # files that a later step deletes do not count. Others use the disk, too, so the build itself is measured
        if self._disk and not self._counting and shutil.disk_usage(self._disk).free < self._floor:
            self._counting = True
            used = self._used_bytes()
            self._counting = False
            if used > self._settings.max_image_bytes:
                raise too_large("the build filled the engine's disk", self._settings)
            if shutil.disk_usage(self._disk).free < LEAST_FREE_BYTES // 2:
                raise Fault("the engine's disk filled up during a build, and the build is not the cause")
            self._floor = max(self._floor - self._most, LEAST_FREE_BYTES // 2)


def too_large(what: str, settings: BuildSettings) -> BuildRefusal:
    """Return the refusal of a build that used more disk space than allowed."""
    return BuildRefusal(
        f"{what}; at most {settings.max_image_bytes:,} bytes are allowed",
        fix="use the packages of the base image, install less, and delete temporary files in the step that made them",
    )


def check_disk(disk: Path | None) -> None:
    """Raise `Fault` if the engine's disk has too little space for a build."""
    if disk and (free := shutil.disk_usage(disk).free) < LEAST_FREE_BYTES:
        raise Fault(f"the engine's disk is full: {free >> 20} MiB are free, {LEAST_FREE_BYTES >> 20} MiB are needed")
