"""Record of guards proved on this host, so that they need no proof before every match."""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from evaluation.domain.errors import HostRefusal
from evaluation.sandbox.base import Guard
from evaluation.sandbox.state_directory import state_directory, write_atomically

_VALID_SECONDS = 12 * 3600
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class ProvedGuards:
    """The result of the last self-test of one engine; stored in a file until the host restarts or hours have passed."""

    def __init__(self, engine: str) -> None:
        boot = _BOOT.read_text(encoding="ascii") if _BOOT.exists() else ""
        # changed code is proved again
        code = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))
        name = hashlib.sha256(f"{engine}\0{boot}\0{code}".encode()).hexdigest()[:24]
        self._file = state_directory("guards") / f"{name}.json"
        self._satisfied = False

    def remember(self, guards: Iterable[Guard]) -> None:
        """Store the result of a self-test."""
        write_atomically(self._file, json.dumps([asdict(guard) for guard in guards]))

    def forget(self) -> None:
        """Discard the stored result, so that the guards are proved again before the next use."""
        self._satisfied = False
        self._file.unlink(missing_ok=True)

    def require(self, prove: Callable[[], list[Guard]]) -> None:
        """Raise `HostRefusal` if a required guard did not hold; call `prove` if no recent result is stored.

        A missing guard is always tried again: the host may be repaired by now.
        """
        if not self._satisfied and _missing(self._remembered()) != []:
            with self._alone():
                missing = _missing(self._remembered())
                if missing != []:
                    missing = _missing(prove())
            if missing:
                raise HostRefusal(
                    "this host lacks guards that untrusted code requires: "
                    + "; ".join(f"{guard.name} ({guard.seen})" for guard in missing),
                    fix="correct the Docker engine until `gauntlet doctor` shows that every required guard holds",
                )
        self._satisfied = True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let processes that begin together prove one after the other: the next one finds the result."""
        with self._file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _remembered(self) -> list[Guard] | None:
        try:
            if time.time() - self._file.stat().st_mtime > _VALID_SECONDS:
                return None
            return [Guard(**fields) for fields in json.loads(self._file.read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            return None


def _missing(guards: list[Guard] | None) -> list[Guard] | None:
    return None if guards is None else [guard for guard in guards if guard.required and not guard.held]
