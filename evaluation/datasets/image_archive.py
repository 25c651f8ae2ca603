"""ZIP archive of images, one folder per class, unpacked without trust in what it says of itself."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from evaluation.datasets.image_files import LISTED
from evaluation.domain.errors import DatasetRefusal

_LEFT_OUT = {"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"}
"""What the programs of other systems add to archives and folders."""

_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, ValueError)
"""Errors of `zipfile` for a damaged or encrypted file, one of another compression, or offsets outside of it."""

_CHUNK = 1 << 20
_DEPTH = 3
"""SPLIT/CLASS/IMAGE."""

_ARRANGE = "arrange it as CLASS/IMAGE or SPLIT/CLASS/IMAGE"


@dataclass(frozen=True)
class ArchiveLimits:
    """The most files of an archive, bytes of all of them, unpacked, and characters of the name of a split."""

    files: int = 100_000
    bytes: int = 4 << 30
    split_name: int = 60


def check(archive: IO[bytes], limits: ArchiveLimits) -> None:
    """Check what a ZIP archive says of itself, and unpack nothing. Raise `DatasetRefusal` as `unpack` would."""
    try:
        with zipfile.ZipFile(archive) as opened:
            said = sum(entry.file_size for entry, _ in _files(opened, limits))
    except _DAMAGED as error:
        raise _damaged(error) from error
    if said > limits.bytes:
        raise _too_large(limits)


def unpack(archive: IO[bytes], into: Path, limits: ArchiveLimits) -> int:
    """Write the files of a ZIP archive below `into`, a folder that is there; return their number.

    A single folder around SPLIT/CLASS/IMAGE is left out, and so is what other systems add. Raise `DatasetRefusal` for
    an archive that is none, is damaged, exceeds the limits, or names files outside `into`, below files or twice.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            files = _files(opened, limits)
            left = limits.bytes
            for entry, name in files:
                left -= _write(opened, entry, into / name, left, limits)
    except _DAMAGED as error:
        raise _damaged(error) from error
    except OSError as error:
        raise DatasetRefusal(
            f"the archive could not be unpacked: {error.strerror or error}",
            fix="free space on the server, or shorten names",
        ) from error
    return len(files)


def _damaged(error: Exception) -> DatasetRefusal:
    return DatasetRefusal(f"the archive is damaged, encrypted or no ZIP file ({error})", fix="pack it again")


def _too_large(limits: ArchiveLimits) -> DatasetRefusal:
    return DatasetRefusal(f"the archive has more than {limits.bytes >> 20:,} MiB, unpacked", fix="leave images out")


def _files(archive: zipfile.ZipFile, limits: ArchiveLimits) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    entries = [each for each in archive.infolist() if not each.is_dir()]
    if len(entries) > limits.files:
        raise DatasetRefusal(
            f"the archive has {len(entries):,} files, at most {limits.files:,} are allowed", fix="leave images out"
        )
    found = [(each, PurePosixPath(each.filename)) for each in entries]
    found = [(each, path) for each, path in found if _LEFT_OUT.isdisjoint(path.parts)]
    if not found:
        raise DatasetRefusal("the archive contains no files", fix=_ARRANGE)
    around = {path.parts[0] for _, path in found}
    if len(around) == 1 and all(len(path.parts) == _DEPTH + 1 for _, path in found):
        found = [(each, PurePosixPath(*path.parts[1:])) for each, path in found]
    _refuse([path for _, path in found if not _inside(path)], "outside the folders of classes", _ARRANGE)
    splits = {path.parts[0] for _, path in found if len(path.parts) == _DEPTH}
    if long := sorted(name for name in splits if len(name) > limits.split_name):
        lines = [f"{len(long)} splits have names of more than {limits.split_name} characters", *long[:LISTED]]
        raise DatasetRefusal("\n    ".join(lines), fix="rename these folders, and pack them again")
    times = Counter(path for _, path in found)
    _refuse([path for path, number in times.items() if number > 1], "twice in the archive", "pack it again")
    folders = {parent for path in times for parent in path.parents}
    _refuse([path for path in times if path in folders], "a file and a folder", "pack it again")
    return found


def _inside(path: PurePosixPath) -> bool:
    within = not path.is_absolute() and not {"..", "."} & set(path.parts)
    return within and 2 <= len(path.parts) <= _DEPTH and "\\" not in str(path)


def _refuse(paths: Sequence[PurePosixPath], what: str, fix: str) -> None:
    if paths:
        lines = [f"{len(paths)} names in the archive are {what}", *map(str, paths[:LISTED])]
        raise DatasetRefusal("\n    ".join(lines), fix=fix)


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, to: Path, left: int, limits: ArchiveLimits) -> int:
    """Write one file, a link as the file that names its target; return its bytes, at most `left`."""
    to.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with archive.open(entry) as packed, to.open("xb") as file:
        while chunk := packed.read(_CHUNK):
            written += len(chunk)
            if written > left:
                raise _too_large(limits)
            file.write(chunk)
    return written
