"""The limits of a build that no engine knows: its time, and the disk that it takes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from evaluation.builder.settings import BuildSettings
from evaluation.domain.errors import BuildRefusal, Fault, SlowBuildRefusal

LEAST_FREE_BYTES = 512 << 20
"""What the engine's disk must have left for a build to begin; one that leaves less than half of it is stopped."""


class BuildWatch:
    """Called about twice a second while a build runs; raises to stop it."""

    def __init__(self, settings: BuildSettings, disk: Path | None, used_bytes: Callable[[], int]) -> None:
        """`disk` is where the engine keeps its data, None where that is another host; `used_bytes` counts the build."""
        self._settings = settings
        self._disk = disk
        self._used_bytes = used_bytes
        self._deadline = time.monotonic() + settings.seconds
        self._most = 2 * settings.max_image_bytes
        # of a disk that had room when the build began, what is left at the end is no host's cause
        free = shutil.disk_usage(disk).free if disk else 0
        self._floor = max(free - self._most, LEAST_FREE_BYTES // 2)
        self._counting = False

    def __call__(self) -> None:
        if time.monotonic() > self._deadline:
            raise SlowBuildRefusal(
                f"the build took longer than {self._settings.seconds:g} s and was stopped",
                fix="install less, or put what takes long into the repository ready-made",
            )
        # engines do not bound a volume, so a build that fills the disk is stopped here. Twice the limit, because
        # files that a later step deletes do not count in the end. Others use the disk, too, so the build is counted
        if self._disk and not self._counting and shutil.disk_usage(self._disk).free < self._floor:
            self._counting = True
            used = self._used_bytes()
            self._counting = False
            if used > self._settings.max_image_bytes:
                raise too_large("the build filled the engine's disk", self._settings)
            if shutil.disk_usage(self._disk).free < LEAST_FREE_BYTES // 2:
                raise Fault("the engine's disk filled up during a build that did not fill it")
            self._floor = max(self._floor - self._most, LEAST_FREE_BYTES // 2)


def too_large(what: str, settings: BuildSettings) -> BuildRefusal:
    """The refusal of a build that took more disk than it may."""
    return BuildRefusal(
        f"{what}, and {settings.max_image_bytes:,} bytes are allowed",
        fix="use what the base image already has, install less, and delete what only the build needed in the same step",
    )


def check_disk(disk: Path | None) -> None:
    """Raise `Fault` where the engine's disk has no room for a build."""
    if disk and (free := shutil.disk_usage(disk).free) < LEAST_FREE_BYTES:
        raise Fault(f"the engine's disk is full: {free >> 20} MiB are left, {LEAST_FREE_BYTES >> 20} are needed")
