"""What a host tells of a running player's use of its processors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ThreadUse:
    """The seconds for which one thread has computed, and for which it was ready and waited for a processor.

    A thread that gave itself a lower priority waits by its own choice: then `waited` is 0.
    """

    computed: float
    waited: float


@dataclass(frozen=True)
class HostLoad:
    """How busy a host is with all that runs on it."""

    slowdown: float = 1.0
    """The threads that want to compute now, for each processor; at least 1."""

    busy: float = 0.0
    """The seconds for which its processors have computed so far."""

    stolen: float = 0.0
    """The seconds for which other virtual machines have kept its processors from computing so far."""


@dataclass(frozen=True)
class ProcessorUse:
    """The figures of one player up to a moment; each only grows, as long as no thread or process ends."""

    computed: float
    """The seconds for which all its processes have computed, also ended ones as far as the host knows."""

    threads: Mapping[int, ThreadUse] = field(default_factory=dict)
    """Its threads by number, as far as the host shows them: not those that have ended."""

    asking: Mapping[int, ThreadUse] = field(default_factory=dict)
    """The thread that awaits its answers, which may have to wait for a processor itself."""

    host: HostLoad = HostLoad()
