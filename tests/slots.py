"""A number for each process that runs tests, by which it has databases of its own on servers that others use, too."""

from __future__ import annotations

import fcntl
import os
import tempfile
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import redis

BROKERS_EACH = 3
"""Redis databases of a process: as many sites as one test starts."""


class Slot:
    """The lowest number that no other test process of this user has on this host; free again when the process ends."""

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or Path(tempfile.gettempdir()) / f"gauntlet-tests-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        for number in count():
            # kept open: the kernel releases the lock with the process, however that ends
            self._lock = (folder / f"slot-{number}").open("w")
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._lock.close()
            else:
                self.number = number
                return

    def close(self) -> None:
        """Let another process have the number."""
        self._lock.close()

    def broker(self, address: str, number: int) -> str:
        """Return an empty Redis database of this process beside the one at `address`; nothing for another broker."""
        if not address.startswith("redis"):
            return ""
        assert number < BROKERS_EACH, f"a test has {BROKERS_EACH} brokers at most"
        place = 1 + BROKERS_EACH * self.number + number
        own = urlsplit(address)._replace(path=f"/{place}").geturl()
        empty(own)
        return own


def empty(address: str) -> None:
    """Take every message out of a Redis database."""
    with redis.Redis.from_url(address) as client:
        client.flushdb()
