"""One demo at a time in a state folder: two would share its database, its broker and its credentials."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import Refusal


@contextmanager
def only_demo_in(state: Path, address: str) -> Iterator[None]:
    """Hold the state folder for a demo that listens at `address`; raise `Refusal` while another one does.

    The kernel releases it with the process, so a demo that was killed leaves nothing to remove.
    """
    state.mkdir(parents=True, exist_ok=True)
    with (state / "demo.lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise Refusal(
                f"another demo runs in {state}, at {file.read().strip() or 'an address that it has not written yet'}",
                fix="stop it with Ctrl-C, or start this one in another folder: GAUNTLET_STATE=DIR make demo",
            ) from None
        file.truncate(0)
        file.write(address)
        file.flush()
        yield
