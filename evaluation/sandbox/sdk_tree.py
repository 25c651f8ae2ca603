"""The SDK by itself: the few files of ours that a player may import, laid out so that `evaluation.sdk` works."""

from __future__ import annotations

import hashlib
from pathlib import Path

_ENGINE = Path(__file__).resolve().parent.parent
_SINGLE_FILES = ("__init__.py", "protocol/__init__.py", "protocol/frames.py")


def write_sdk_tree(target: Path) -> None:
    """Write the package `evaluation`, holding the SDK and the frames and nothing else, below `target`.

    With `target` on its PYTHONPATH a player imports `evaluation.sdk`. Files are readable by every user.
    """
    for source in _sources():
        copy = target / "evaluation" / source.relative_to(_ENGINE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source.read_bytes())
        copy.chmod(0o644)
    for directory in [target, *(path for path in target.rglob("*") if path.is_dir())]:
        directory.chmod(0o755)


def sdk_digest() -> str:
    """The hash (hexadecimal SHA-256) of the names and contents of all that `write_sdk_tree` writes."""
    digest = hashlib.sha256()
    for source in _sources():
        content = source.read_bytes()
        digest.update(f"{source.relative_to(_ENGINE).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources() -> list[Path]:
    return [*(_ENGINE / name for name in _SINGLE_FILES), *sorted((_ENGINE / "sdk").rglob("*.py"))]
