"""Directory of state that processes of this user share: started runs and proved guards."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def state_directory(name: str) -> Path:
    """Return Gauntlet's directory `name`, created below $XDG_STATE_HOME, the home, or else the temporary files."""
    for base in _candidates():
        directory = base / "gauntlet" / name
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        # another user may have created it below the shared temporary files
        if directory.stat().st_uid == os.getuid() and os.access(directory, os.W_OK):
            return directory
    return Path(tempfile.mkdtemp(prefix=f"gauntlet-{name}-"))


def write_atomically(path: Path, text: str) -> None:
    """Write `text` atomically: a reader finds the old file or the new one."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    Path(file.name).replace(path)


def _candidates() -> list[Path]:
    named = os.environ.get("XDG_STATE_HOME")
    user = os.getuid()
    return [
        Path(named) if named else Path.home() / ".local" / "state",
        Path(tempfile.gettempdir()) / f"gauntlet-{user}",
    ]
