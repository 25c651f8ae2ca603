"""The SDK by itself: the one package of this project that a player may import, in a directory of its own."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

import gauntlet
from evaluation.sandbox.state_directory import state_directory

_PACKAGE = Path(gauntlet.__file__).resolve().parent


def write_sdk_tree(target: Path) -> None:
    """Write the package `gauntlet` and nothing else below `target`.

    With `target` on its PYTHONPATH a player imports `gauntlet`. Files are readable by every user.
    """
    for source in _sources():
        copy = target / _name(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source.read_bytes())
        copy.chmod(0o644)
    for directory in [target, *(path for path in target.rglob("*") if path.is_dir())]:
        directory.chmod(0o755)


def kept_sdk_tree() -> Path:
    """Return the directory of this host with this version of the SDK; write it once."""
    directory = state_directory("sdk") / sdk_digest()[:16]
    if not directory.exists():
        fresh = Path(tempfile.mkdtemp(dir=directory.parent))
        write_sdk_tree(fresh)
        try:
            fresh.rename(directory)
        except OSError:  # another process was first
            shutil.rmtree(fresh)
    return directory


def sdk_digest() -> str:
    """Return the hash (hexadecimal SHA-256) of the names and contents of all that `write_sdk_tree` writes."""
    digest = hashlib.sha256()
    for source in _sources():
        content = source.read_bytes()
        digest.update(f"{_name(source)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources() -> list[Path]:
    return sorted(_PACKAGE.rglob("*.py"))


def _name(source: Path) -> str:
    """The path of a file of the SDK below the directory that is on the player's PYTHONPATH."""
    return source.relative_to(_PACKAGE.parent).as_posix()
