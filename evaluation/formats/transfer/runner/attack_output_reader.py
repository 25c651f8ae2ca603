"""Reader of what an attack wrote: nothing is trusted, and what leaves the ball is clipped to it."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evaluation.domain.images import Image, Images
from evaluation.formats.transfer.results import ImageNote
from evaluation.parsing.limited_process import LimitedProcess, LimitExceededError

_DECODER = "evaluation.formats.transfer.runner.image_decoder:decode"
_ENDINGS = (".png", ".jpg")
"""The first one that exists counts."""

_LEAST_BYTES, _BYTES_OF_PIXEL = 1 << 20, 8
"""An image may have this many bytes, and so many more for each pixel of the clean image."""
_SECONDS, _MEMORY_BYTES = 5, 1 << 30
"""Limits of the process that reads the images; the largest allowed one takes 0.2 s."""

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
    if not raw:
        return None, [ImageNote.UNREADABLE]
    notes = [note for note in (ImageNote.CONVERTED, ImageNote.RESIZED) if answer[note]]
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
    return LimitedProcess(_DECODER, seconds=_SECONDS, memory_bytes=_MEMORY_BYTES)
