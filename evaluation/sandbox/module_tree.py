"""Python modules of this checkout, copied to where a player may read them."""

from __future__ import annotations

import compileall
import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from evaluation.sandbox.state_directory import state_directory


@dataclass(frozen=True)
class ModuleTree:
    """The modules in the directory `source`, by their paths below `base`, which is on the player's PYTHONPATH.

    `kept_in` is the folder of the state directory with one directory for each version.
    """

    source: Path
    base: Path
    kept_in: str

    def digest(self) -> str:
        """Return the hash (hexadecimal SHA-256) of the names and contents of all that `write` writes."""
        digest = hashlib.sha256()
        for path in self._files():
            content = path.read_bytes()
            digest.update(f"{path.relative_to(self.base).as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest()

    def write(self, target: Path) -> None:
        """Write the modules and nothing else below `target`, readable by every user."""
        for path in self._files():
            copy = target / path.relative_to(self.base)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
            copy.chmod(0o644)
        for directory in [target, *(path for path in target.rglob("*") if path.is_dir())]:
            directory.chmod(0o755)

    def kept(self) -> Path:
        """Return the directory of this host with this version of the modules; write and compile it once."""
        directory = state_directory(self.kept_in) / self.digest()[:16]
        if not directory.exists():
            fresh = Path(tempfile.mkdtemp(dir=directory.parent))
            self.write(fresh)
            # a player keeps nothing that it compiles: each start would compile them again
            compileall.compile_dir(fresh, stripdir=fresh, prependdir=directory, quiet=2)
            try:
                fresh.rename(directory)
            except OSError:  # another process was first
                shutil.rmtree(fresh)
        return directory

    def _files(self) -> list[Path]:
        return sorted(self.source.rglob("*.py"))
