"""Reader of image files as samples; one refusal lists all unusable files."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image as Picture
from PIL.ExifTags import Base
from PIL.ImageFile import ImageFile

from evaluation.datasets.base import Reading
from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import Image, ImageShape
from evaluation.domain.samples import Sample

LISTED = 20
"""The number of problems that a refusal names; the rest are counted."""

_MODES = ("RGB", "L")
_MODES_OF_16_BITS = ("I", "I;16")
_LAYOUTS_OF_16_BITS = (";16B", ";16L", ";16N")
"""How Pillow's names of channels in a file end that it reads as 8 bits; `BGR;16` has 16 bits of all channels."""
_ONE_PICTURE = ("MPO", "PSD")
"""Formats whose further frames are previews or layers, which no viewer shows instead of the first."""
_TURNED = range(2, 9)
"""Values of the EXIF orientation other than upright, which is 1."""
_UNREADABLE = (
    OSError, SyntaxError, ValueError, TypeError, LookupError, AttributeError, EOFError, RuntimeError, struct.error,
    zlib.error, Picture.DecompressionBombError, Picture.DecompressionBombWarning,
)  # fmt: skip
"""Errors that Pillow raises for damaged files and other formats."""


@dataclass(frozen=True)
class ExpectedImage:
    """One expected image file of a split, with its label, target and name in the table of the data set."""

    path: Path
    label: int
    target: int | None = None
    image_id: str = ""


def read_samples(entries: Sequence[ExpectedImage], shape: ImageShape, problems: Sequence[str], root: Path) -> Reading:
    """Read the samples of `entries` in their order; greyscale files get three equal channels.

    `problems` are already known problems of the layout; the refusal lists them with those of the files.
    """
    return Reading(len(entries), _read(entries, shape, problems, root))


def _read(entries: Sequence[ExpectedImage], shape: ImageShape, problems: Sequence[str], root: Path) -> Iterator[Sample]:
    found = list(problems)
    for number, entry in enumerate(entries):
        try:
            image = read_image(entry.path, shape)
        except DatasetRefusal as refusal:
            found.append(f"{relative_name(entry.path, root)}: {refusal.problem}")
            continue
        yield Sample(number, image, entry.label, entry.target, entry.image_id)
    refuse_if_any(found, root)
    if not entries:
        raise DatasetRefusal(f"{root}: the split contains no image", fix="add images, or name another split")


def read_image(path: Path, shape: ImageShape) -> Image:
    """Return an RGB or greyscale file as (h, w, 3) uint8. Raise `DatasetRefusal` with the problem."""
    if not path.is_file():
        raise DatasetRefusal("missing, or not a file")
    try:
        with Picture.open(path) as picture:
            size = (picture.height, picture.width)
            if size != shape[:2]:
                raise DatasetRefusal(f"is {size[0]} x {size[1]} pixels, not {shape.height} x {shape.width}")
            if _has_16_bits(picture):
                raise DatasetRefusal("has more than 8 bits per channel: save it with 8")
            if getattr(picture, "is_animated", False) and picture.format not in _ONE_PICTURE:
                raise DatasetRefusal("has several frames or pages: save the one that is meant as a file of its own")
            if picture.mode not in _MODES:
                raise DatasetRefusal(f"has mode {picture.mode}, not RGB or greyscale of 8 bits")
            if "transparency" in picture.info:  # which Pillow would leave out
                raise DatasetRefusal("has a transparent colour: save it without one, on the background that is meant")
            image = np.asarray(picture.convert("RGB"))
            if _is_turned(picture):
                raise DatasetRefusal("is stored turned or mirrored, as its EXIF orientation says: save it upright")
            return image
    except _UNREADABLE as error:
        raise DatasetRefusal(f"corrupt, or not an image ({type(error).__name__})") from error


def _has_16_bits(picture: ImageFile) -> bool:
    """Whether a picture that is not read yet has channels of more than 8 bits, of which Pillow would cut some off."""
    if picture.mode in _MODES_OF_16_BITS:
        return True
    said = [each for tile in picture.tile for each in (tile.args if isinstance(tile.args, tuple) else (tile.args,))]
    if picture.format == "PPM":  # the largest value of a channel
        return any(isinstance(each, int) and each > 255 for each in said)
    return any(isinstance(each, str) and each.endswith(_LAYOUTS_OF_16_BITS) for each in said)


def _is_turned(picture: Picture.Image) -> bool:
    """Whether a picture that was read says that it is to be shown otherwise than its pixels are stored."""
    try:
        return picture.getexif().get(Base.Orientation) in _TURNED
    except _UNREADABLE:  # of data about the picture, without which it is shown
        return False


def image_shape(path: Path) -> ImageShape | None:
    """Return the shape in the header of a file, or None if it is not readable."""
    try:
        with Picture.open(path) as picture:
            return ImageShape(picture.height, picture.width, 3)
    except _UNREADABLE:
        return None


def refuse_if_any(problems: Sequence[str], root: Path) -> None:
    """Raise one `DatasetRefusal` that lists the first problems and counts them all, unless there are none."""
    if not problems:
        return
    lines = [f"{root}: {len(problems)} problem{'s' if len(problems) > 1 else ''}", *problems[:LISTED]]
    if len(problems) > LISTED:
        lines.append(f"and {len(problems) - LISTED} more")
    raise DatasetRefusal("\n    ".join(lines), fix="restore or remove the files named above; files are never skipped")


def relative_name(path: Path, root: Path) -> str:
    """Return the path relative to the root of the data set, for messages."""
    return path.relative_to(root).as_posix()


def required_text(path: Path, root: Path) -> str:
    """Return the text of a required file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetRefusal(
            f"{root}: {relative_name(path, root)} is missing or unreadable", fix="name the folder that contains it"
        ) from error
