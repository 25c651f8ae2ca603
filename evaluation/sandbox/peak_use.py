"""The most that any instance of a player used of its limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from evaluation.domain.limit_use import LimitUse, Unit
from evaluation.sandbox.base import PlayerRun, Resources, SpaceUse


@dataclass
class MostUsed:
    """What was seen of a player's instances so far."""

    setup_seconds: float | None = None
    """From the start of its process to its connection."""
    space: SpaceUse = field(default_factory=SpaceUse)

    def connected(self, run: PlayerRun, seconds: float) -> None:
        """Note how long an instance took to connect, and what it uses now: it may end before anybody looks again."""
        self.setup_seconds = max(self.setup_seconds or 0.0, seconds)
        self.look(run)

    def look(self, run: PlayerRun) -> None:
        """Note what `run` uses."""
        self.space |= run.space_use()

    def set_up(self, limit: float, calibration: float) -> LimitUse:
        """Return the set-up beside its limit, in reference seconds; this host takes `calibration` times as long."""
        seconds = None if self.setup_seconds is None else self.setup_seconds / calibration
        return LimitUse("set-up, from its start to its connection", seconds, limit)

    def of(self, resources: Resources) -> tuple[LimitUse, ...]:
        """Return it beside the limits of the sandbox; scratch space only where it can be seen."""
        space = self.space
        return (
            LimitUse("memory", space.memory_bytes, resources.memory_bytes, Unit.BYTES),
            LimitUse("processes and threads", space.processes, resources.processes, Unit.COUNT),
            LimitUse("scratch space in /tmp", space.scratch_bytes, resources.scratch_bytes, Unit.BYTES),
        )
