"""Reader of what an attack wrote: nothing is trusted, and what leaves the ball is clipped to it."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image as Picture

from evaluation.domain.images import Image, Images
from evaluation.formats.transfer.results import ImageNote
from evaluation.parsing.limited_process import Fields, LimitedProcess, LimitExceededError

_ENDINGS = (".png", ".jpg")
"""The first one that exists counts."""

_FILE_KINDS = ("PNG", "JPEG")
_PNG, _DEPTH = b"\x89PNG", 24  # the signature, and where the header has the bits of a channel
_MOST_PIXELS = 2048 * 2048
"""Or four times those of the clean image, if these are more."""
_LEAST_BYTES, _BYTES_OF_PIXEL = 1 << 20, 8
"""An image may have this many bytes, and so many more for each pixel of the clean image."""
_MOST_SEGMENTS = 1000
"""Pillow keeps each segment of a JPEG and each chunk of a PNG in memory, also the empty ones."""
_SECONDS, _MEMORY_BYTES = 5, 1 << 30
"""Limits of the process that reads the images; the largest allowed one takes 0.2 s."""
_MARKER = 0xFF
_SCAN, _MOST_SCANS = b"\xff\xda", 32
"""A JPEG file may repeat a scan of some bytes, each of which takes as long as the first. Usual are at most 10."""

_NO_FILE = frozenset(
    (errno.ENOENT, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.ENXIO, errno.ENAMETOOLONG, errno.EISDIR)
)
"""Errors that a submission can cause by what it wrote. Others are this host's."""


def read_file(directory: Path, name: str, most: int) -> bytes | None:
    """Return the content of the plain file `name`, None if there is none; at most `most` + 1 bytes.

    A symbolic link could name any file of this host, and a pipe would block: both count as no file. An error that only
    this host can cause is raised as `OSError`.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        number = os.open(directory / name, flags)
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise
        return None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        return None
    with os.fdopen(number, "rb") as file:
        return file.read(most + 1)


def read_adversarial(
    process: LimitedProcess, directory: Path, name: str, clean: Image, epsilon: int
) -> tuple[Image | None, list[ImageNote]]:
    """Return the image `name` in the ball of `epsilon` levels around `clean`, None without one, and what was noticed.

    The file is decoded in `process`, an `image_process()`. As in 2017 it is read as RGB, resized bicubically if it has
    another size, and clipped to the ball and to 0..255.
    """
    most = _LEAST_BYTES + _BYTES_OF_PIXEL * clean.shape[0] * clean.shape[1]
    content = next(
        (found for ending in _ENDINGS if (found := read_file(directory, name + ending, most)) is not None), None
    )
    if content is None:
        return None, [ImageNote.MISSING]
    if len(content) > most:
        return None, [ImageNote.UNREADABLE]
    try:
        answer, raw = process.ask({"shape": list(clean.shape)}, content)
    except LimitExceededError:
        return None, [ImageNote.UNREADABLE]
    notes = [ImageNote(note) for note in answer["notes"]]
    if not raw:
        return None, [ImageNote.UNREADABLE]
    pixels = np.frombuffer(raw, np.uint8).reshape(clean.shape)
    wide = clean.astype(np.int16)
    low, high = np.clip(wide - epsilon, 0, 255), np.clip(wide + epsilon, 0, 255)
    clipped = np.clip(pixels, low, high).astype(np.uint8)
    if not np.array_equal(clipped, pixels):
        notes.append(ImageNote.CLIPPED)
    return clipped, notes


def pixel_hash(image: Image) -> str:
    """Return the SHA-256 of the pixels."""
    return hashlib.sha256(np.ascontiguousarray(image).data).hexdigest()


def read_all(
    directory: Path, names: Sequence[str], clean: Images, epsilon: int
) -> tuple[list[Image | None], list[tuple[ImageNote, ...]]]:
    """Read the images `names`, the first of `clean`, in their order."""
    with image_process() as process:
        found = [
            read_adversarial(process, directory, name, image, epsilon)
            for name, image in zip(names, clean, strict=False)
        ]
    return [image for image, _ in found], [tuple(notes) for _, notes in found]


def image_process() -> LimitedProcess:
    """Return a process that decodes images; it starts with the first one."""
    return LimitedProcess(f"{__name__}:decode", seconds=_SECONDS, memory_bytes=_MEMORY_BYTES)


def decode(fields: Fields, content: bytes) -> tuple[Fields, bytes]:
    """Return the notes on an image and its pixels in the `shape` of the clean one, without any for a damaged file."""
    notes: list[ImageNote] = []
    height, width = (int(side) for side in fields["shape"][:2])
    try:
        pixels = _decode(content, height, width, notes)
    except MemoryError:
        raise
    except Exception:  # Pillow raises errors of many kinds for damaged files: a wrong file must not end a match
        return {"notes": []}, b""
    return {"notes": [note.value for note in notes]}, np.ascontiguousarray(pixels).tobytes()


def _decode(content: bytes, height: int, width: int, notes: list[ImageNote]) -> Image:
    if _segments(content) > _MOST_SEGMENTS:
        raise ValueError("too many segments")
    most_pixels = max(_MOST_PIXELS, 4 * height * width)
    with Picture.open(BytesIO(content), formats=_FILE_KINDS) as picture:
        if picture.width * picture.height > most_pixels:
            raise ValueError("too many pixels")
        # Pillow names some files that its JPEG reader opens otherwise, such as MPO
        if picture.format != "PNG" and content.count(_SCAN) > _MOST_SCANS:
            raise ValueError("too many scans")
        if picture.mode != "RGB" or _is_deep(content):
            notes.append(ImageNote.CONVERTED)
        picture.load()
        picture.info.pop("transparency", None)  # of no use in RGB, and Pillow would warn
        colours = picture.convert("RGB")
    if colours.size != (width, height):
        notes.append(ImageNote.RESIZED)
        colours = colours.resize((width, height), Picture.Resampling.BICUBIC)
    return np.asarray(colours)


def _segments(content: bytes) -> int:
    """Return how many segments or chunks come before the pixels, at most one more than is allowed."""
    png = content.startswith(_PNG)
    at, number = (8, 0) if png else (2, 0)
    while at + 8 <= len(content) and number <= _MOST_SEGMENTS:
        number += 1
        if png:
            at += 12 + int.from_bytes(content[at : at + 4])
        elif content[at] != _MARKER or content[at + 1] == _MARKER:  # fill bytes
            at += 1
        elif content[at : at + 2] == _SCAN:
            break
        else:
            at += 2 + int.from_bytes(content[at + 2 : at + 4])
    return number


def _is_deep(content: bytes) -> bool:
    """Return True for a PNG file with more than 8 bits in a channel, which Pillow reads as 8 bits."""
    return content.startswith(_PNG) and content[_DEPTH : _DEPTH + 1] > b"\x08"
