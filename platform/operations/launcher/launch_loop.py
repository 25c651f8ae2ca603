"""Steps of a launcher: what changes is logged once, and an engine that refuses is asked less often."""

from __future__ import annotations

import logging

from django.db import DatabaseError, connection

from core import platform_error_report
from operations.launcher.launcher_interface import EngineError, WorkerLauncher
from operations.launcher.scaling import JobLimits, step

log = logging.getLogger(__name__)

LONGEST_PAUSE = 60.0
"""Seconds between two tries while the engine or the database refuses, unless the usual interval is longer."""


class LaunchLoop:
    """The steps of one launcher, `every` so many seconds."""

    def __init__(self, launcher: WorkerLauncher, limits: JobLimits, *, worker_class: str, every: float) -> None:
        self._launcher = launcher
        self._limits = limits
        self._worker_class = worker_class
        self._every = every
        self._said = ""
        self._problem = ""
        self._pause = every

    def step(self) -> float:
        """Take one; return after how many seconds the next one is due."""
        try:
            done = step(self._launcher, self._limits, worker_class=self._worker_class)
        except (EngineError, DatabaseError) as error:
            if str(error) != self._problem:
                platform_error_report.report(log, error, "no workers were started on the cluster")
            if isinstance(error, DatabaseError):
                connection.close()
            self._said, self._problem = "", str(error)
            self._pause = max(self._every, min(2 * self._pause, LONGEST_PAUSE))
            return self._pause
        if self._problem:
            log.info("the cluster and the database answer again")
        if done and done != self._said:
            log.info("%s", done)
        self._said, self._problem, self._pause = done, "", self._every
        return self._every
