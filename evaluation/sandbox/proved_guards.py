"""Guards that were proved on this host not long ago, so that they need not be proved before every match."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from evaluation.domain.errors import HostRefusal
from evaluation.sandbox.base import Guard
from evaluation.sandbox.state_directory import state_directory, write_atomically

_VALID_SECONDS = 12 * 3600
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class ProvedGuards:
    """What the last self-test of one engine found; kept in a file until the host boots anew or hours have passed."""

    def __init__(self, engine: str) -> None:
        boot = _BOOT.read_text(encoding="ascii") if _BOOT.exists() else ""
        # another way of making containers is proved anew
        code = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))
        name = hashlib.sha256(f"{engine}\0{boot}\0{code}".encode()).hexdigest()[:24]
        self._file = state_directory("guards") / f"{name}.json"
        self._satisfied = False

    def remember(self, guards: Iterable[Guard]) -> None:
        """Keep what a self-test found."""
        write_atomically(self._file, json.dumps([asdict(guard) for guard in guards]))

    def forget(self) -> None:
        """Have the guards proved again before they are next relied upon."""
        self._satisfied = False
        self._file.unlink(missing_ok=True)

    def require(self, prove: Callable[[], list[Guard]]) -> None:
        """Raise `HostRefusal` where a required guard did not hold; `prove` is asked when nothing recent is known.

        A guard that was missing is always tried again: somebody may have mended the host.
        """
        if self._satisfied:
            return
        if _missing(self._remembered()) != []:
            missing = _missing(prove())
            if missing:
                raise HostRefusal(
                    "this host lacks guards that untrusted code needs: "
                    + "; ".join(f"{guard.name} ({guard.seen})" for guard in missing or []),
                    fix="mend the Docker engine until `gauntlet doctor` shows every required guard as held",
                )
        self._satisfied = True

    def _remembered(self) -> list[Guard] | None:
        try:
            if time.time() - self._file.stat().st_mtime > _VALID_SECONDS:
                return None
            return [Guard(**fields) for fields in json.loads(self._file.read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            return None


def _missing(guards: list[Guard] | None) -> list[Guard] | None:
    return None if guards is None else [guard for guard in guards if guard.required and not guard.held]
