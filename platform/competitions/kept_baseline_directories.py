"""Adapter: directories with submissions of organisers, stored as archives, so that workers need none of their own."""

from __future__ import annotations

import io
import stat
import tarfile
import tempfile
from pathlib import Path

from core import object_store
from core.errors import Fault
from evaluation.builder.allowed_submission_files import tree_entries
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import BuildRefusal


def keep_directory(source: Path) -> str:
    """Store the files of a directory; return the digest of the archive. Raise `Refusal` for a file that none may have.

    Equal trees give equal archives.
    """
    return object_store.put(_packed(source))


def digest_of_directory(source: Path) -> str:
    """Return the digest of the tree, "" if it is missing or being written. See `tree_digest`."""
    try:
        return tree_digest(source)
    except (BuildRefusal, OSError):
        return ""


def unpack_directory(archive: str, target: Path) -> None:
    """Unpack what was stored to `target` atomically, unless it exists."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".kept-") as name:
        folder = Path(name) / "files"
        try:
            with tarfile.open(fileobj=io.BytesIO(object_store.get(archive))) as opened:
                opened.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
                opened.extractall(folder)  # noqa: S202 - `_packed` made the archive of files that were checked
        except (tarfile.TarError, OSError) as error:
            raise Fault(f"the stored directory {archive} cannot be unpacked: {error}") from error
        try:
            folder.rename(target)
        except OSError:  # another process unpacked it first
            if not target.exists():
                raise


def _packed(source: Path) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in tree_entries(source):
            info = tarfile.TarInfo(str(entry.path))
            info.mode = stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IROTH
            if entry.executable:
                info.mode |= stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
            if entry.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
                archive.addfile(info)
            else:
                content = (source / entry.path).read_bytes()
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return file.getvalue()
