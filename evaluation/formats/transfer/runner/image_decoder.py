"""Decoder of the images that an attack wrote, for a process with limits.

It needs Pillow alone: a process starts for each batch, and NumPy would take half of its start.
"""

from __future__ import annotations

from io import BytesIO

from PIL import Image as Picture

from evaluation.parsing.limited_process import Fields

_FILE_KINDS = ("PNG", "JPEG")
_PNG, _DEPTH = b"\x89PNG", 24  # the signature, and where the header has the bits of a channel
_DEEP_GREY = "I;16"
"""The mode of a grey PNG file with 16 bits, the only one that Pillow does not read as 8 bits but cuts off at 255."""
_MOST_PIXELS = 2048 * 2048
"""Or four times those of the clean image, if these are more."""
_MOST_SEGMENTS = 1000
"""Pillow keeps each segment of a JPEG and each chunk of a PNG in memory, also the empty ones."""
_MARKER = 0xFF
_SCAN, _MOST_SCANS = b"\xff\xda", 32
"""A JPEG file may repeat a scan of some bytes, each of which takes as long as the first. Usual are at most 10."""


def decode(fields: Fields, content: bytes) -> tuple[Fields, bytes]:
    """Return the pixels of an image in the `shape` of the clean one, and whether it was `converted` and `resized`.

    There are no pixels for a damaged file.
    """
    height, width = (int(side) for side in fields["shape"][:2])
    try:
        return _decode(content, height, width)
    except MemoryError:
        raise
    except Exception:  # Pillow raises errors of many kinds for damaged files: a wrong file must not end a match
        return {}, b""


def _decode(content: bytes, height: int, width: int) -> tuple[Fields, bytes]:
    if _segments(content) > _MOST_SEGMENTS:
        raise ValueError("too many segments")
    most_pixels = max(_MOST_PIXELS, 4 * height * width)
    with Picture.open(BytesIO(content), formats=_FILE_KINDS) as picture:
        if picture.width * picture.height > most_pixels:
            raise ValueError("too many pixels")
        # Pillow names some files that its JPEG reader opens otherwise, such as MPO
        if picture.format != "PNG" and content.count(_SCAN) > _MOST_SCANS:
            raise ValueError("too many scans")
        converted = picture.mode != "RGB" or _is_deep(content)
        picture.load()
        picture.info.pop("transparency", None)  # of no use in RGB, and Pillow would warn
        levels = picture.point(lambda level: level / 256) if picture.mode == _DEEP_GREY else picture
        colours = levels.convert("RGB")
    resized = colours.size != (width, height)
    if resized:
        colours = colours.resize((width, height), Picture.Resampling.BICUBIC)
    return {"converted": converted, "resized": resized}, colours.tobytes()


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
    """Return True for a PNG file with more than 8 bits in a channel."""
    return content.startswith(_PNG) and content[_DEPTH : _DEPTH + 1] > b"\x08"
