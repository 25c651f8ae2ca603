"""The modules of `player/` as a tree that a sandbox shows to submissions of earlier years, beside the SDK."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from evaluation.sandbox.state_directory import state_directory

SOURCE = Path(__file__).resolve().parent / "player"
"""The modules in this checkout, which players in bubblewrap do not see."""

START = "start_2018.py"
"""The script that starts a submission of 2018, with its side as the argument."""


def modules_digest() -> str:
    """Return the hash (hexadecimal SHA-256) of the names and contents of the modules."""
    digest = hashlib.sha256()
    for path in _files():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(SOURCE).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def modules_tree() -> Path:
    """Return the directory with this version of the modules; write it once."""
    directory = state_directory("legacy-modules") / modules_digest()[:16]
    if not directory.exists():
        fresh = Path(tempfile.mkdtemp(dir=directory.parent))
        write_modules(fresh)
        try:
            fresh.rename(directory)
        except OSError:  # another process was first
            shutil.rmtree(fresh)
    return directory


def write_modules(target: Path) -> None:
    """Write the modules below `target`, readable by every user."""
    for source in _files():
        copy = target / source.relative_to(SOURCE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source.read_bytes())
        copy.chmod(0o644)
    for directory in [target, *(path for path in target.rglob("*") if path.is_dir())]:
        directory.chmod(0o755)


def _files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))
