"""Reading what an attack wrote."""

from __future__ import annotations

import os
import resource
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from evaluation.domain.images import Image
from evaluation.formats.transfer.results import ImageNote
from evaluation.formats.transfer.runner import attack_output_reader
from evaluation.formats.transfer.runner.attack_output_reader import image_process

CLEAN = np.random.default_rng(1).integers(0, 256, (8, 8, 3), np.uint8)
EPSILON = 16


def read_adversarial(directory: Path, name: str, clean: Image, epsilon: int) -> tuple[Image | None, list[ImageNote]]:
    with image_process() as process:
        return attack_output_reader.read_adversarial(process, directory, name, clean, epsilon)


def written(picture: Picture.Image, path: Path) -> None:
    picture.save(path / "A.png", "PNG")


def test_an_image_within_the_ball_is_read_unchanged(tmp_path: Path) -> None:
    near = np.clip(CLEAN.astype(int) + 16, 0, 255).astype(np.uint8)
    written(Picture.fromarray(near), tmp_path)
    image, notes = read_adversarial(tmp_path, "A", CLEAN, EPSILON)
    assert image is not None
    assert (image.tolist(), notes) == (near.tolist(), [])


def test_what_leaves_the_ball_is_clipped(tmp_path: Path) -> None:
    written(Picture.fromarray(255 - CLEAN), tmp_path)
    image, notes = read_adversarial(tmp_path, "A", CLEAN, EPSILON)
    assert image is not None
    change = image.astype(int) - CLEAN
    assert np.abs(change).max() == EPSILON
    assert notes == [ImageNote.CLIPPED]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Picture.fromarray(CLEAN).resize((16, 12)), [ImageNote.RESIZED, ImageNote.CLIPPED]),
        (lambda: Picture.fromarray(CLEAN).quantize(16), [ImageNote.CONVERTED, ImageNote.CLIPPED]),
        (lambda: Picture.fromarray(CLEAN[..., 0].astype(np.uint16) * 257), [ImageNote.CONVERTED, ImageNote.CLIPPED]),
        (lambda: Picture.fromarray(CLEAN).convert("RGBA"), [ImageNote.CONVERTED]),
        (lambda: Picture.fromarray(CLEAN).convert("1"), [ImageNote.CONVERTED, ImageNote.CLIPPED]),
    ],
    ids=["another size", "palette", "16 bits", "alpha", "black and white"],
)
def test_another_kind_of_image_is_converted_and_said(
    make: Callable[[], Picture.Image], expected: list[ImageNote], tmp_path: Path
) -> None:
    written(make(), tmp_path)
    image, notes = read_adversarial(tmp_path, "A", CLEAN, EPSILON)
    assert image is not None
    assert notes == expected
    assert np.abs(image.astype(int) - CLEAN).max() <= EPSILON


def test_a_grey_image_of_16_bits_is_read_by_its_upper_8(tmp_path: Path) -> None:
    clean = np.repeat(CLEAN[..., :1], 3, axis=2)
    written(Picture.fromarray(clean[..., 0].astype(np.uint16) * 256 + 200), tmp_path)
    image, notes = read_adversarial(tmp_path, "A", clean, EPSILON)
    assert image is not None
    assert (image.tolist(), notes) == (clean.tolist(), [ImageNote.CONVERTED])


def test_a_palette_with_transparency_is_read(tmp_path: Path) -> None:
    Picture.fromarray(CLEAN).quantize(16).save(tmp_path / "A.png", transparency=bytes(range(16)))
    assert read_adversarial(tmp_path, "A", CLEAN, EPSILON)[0] is not None


def test_a_jpeg_counts_if_there_is_no_png(tmp_path: Path) -> None:
    Picture.fromarray(CLEAN).save(tmp_path / "A.jpg")
    assert read_adversarial(tmp_path, "A", CLEAN, EPSILON)[0] is not None


@pytest.mark.parametrize(
    "content",
    [b"", b"no image", b"\x89PNG\r\n\x1a\n" + b"\0" * 40, b"\x93NUMPY"],
    ids=["empty", "text", "damaged", "numpy"],
)
def test_it_rejects_a_file_that_is_no_image(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "A.png").write_bytes(content)
    assert read_adversarial(tmp_path, "A", CLEAN, EPSILON) == (None, [ImageNote.UNREADABLE])


def test_it_rejects_floats_that_only_a_tiff_file_holds(tmp_path: Path) -> None:
    Picture.fromarray(np.full((8, 8), np.nan, np.float32)).save(tmp_path / "A.png", "TIFF")
    assert read_adversarial(tmp_path, "A", CLEAN, EPSILON) == (None, [ImageNote.UNREADABLE])


def test_it_rejects_an_image_that_unpacks_to_very_many_pixels(tmp_path: Path) -> None:
    written(Picture.new("1", (4097, 4096)), tmp_path)
    assert read_adversarial(tmp_path, "A", CLEAN, EPSILON) == (None, [ImageNote.UNREADABLE])


@pytest.mark.parametrize("kind", ["link", "pipe", "directory", "nothing"])
def test_what_is_no_plain_file_is_missing(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "A.png"
    Picture.fromarray(CLEAN).save(tmp_path / "secret.png")
    if kind == "link":
        path.symlink_to(tmp_path / "secret.png")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    assert read_adversarial(tmp_path, "A", CLEAN, EPSILON) == (None, [ImageNote.MISSING])


def test_a_damaged_chunk_of_any_kind_is_an_unreadable_image(tmp_path: Path) -> None:
    written(Picture.fromarray(CLEAN), tmp_path)
    content = (tmp_path / "A.png").read_bytes()
    end = content.index(b"IEND") - 4
    chunk = struct.pack(">I4s", 1, b"iCCP") + b"x" + struct.pack(">I", zlib.crc32(b"iCCPx"))
    (tmp_path / "A.png").write_bytes(content[:end] + chunk + content[end:])
    assert read_adversarial(tmp_path, "A", CLEAN, EPSILON) == (None, [ImageNote.UNREADABLE])


def multi_picture_segment(size: int) -> bytes:
    """Return the segment with which Pillow takes a JPEG file of `size` bytes for the first of several pictures."""
    entries = [(0xB000, 7, 4, b"0100"), (0xB001, 4, 1, struct.pack("<I", 2)), (0xB002, 7, 32, struct.pack("<I", 50))]
    index = b"".join(struct.pack("<HHI", *entry[:3]) + entry[3] for entry in entries)
    pictures = struct.pack("<IIIHH", 0x030000, size, 0, 0, 0) + struct.pack("<IIIHH", 0, size, 0, 0, 0)
    body = b"MPF\0II*\0" + struct.pack("<IH", 8, len(entries)) + index + bytes(4) + pictures
    return b"\xff\xe2" + struct.pack(">H", len(body) + 2) + body


@pytest.mark.parametrize("kind", ["JPEG", "MPO"])
def test_a_jpeg_that_repeats_a_scan_is_no_image(kind: str, tmp_path: Path) -> None:
    Picture.fromarray(CLEAN).save(tmp_path / "A.jpg", "JPEG", progressive=True)
    content = (tmp_path / "A.jpg").read_bytes()
    if kind == "MPO":
        content = content[:2] + multi_picture_segment(len(content)) + content[2:]
        (tmp_path / "A.jpg").write_bytes(content)
    with Picture.open(tmp_path / "A.jpg") as opened:
        assert opened.format == kind
    image, _ = read_adversarial(tmp_path, "A", CLEAN, EPSILON)
    assert image is not None
    last = content.rindex(b"\xff\xda")
    (tmp_path / "A.jpg").write_bytes(content[:-2] + content[last:-2] * 2000 + content[-2:])
    assert read_adversarial(tmp_path, "A", CLEAN, EPSILON) == (None, [ImageNote.UNREADABLE])


def test_an_error_of_this_host_is_not_a_missing_image(tmp_path: Path) -> None:
    written(Picture.fromarray(CLEAN), tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))  # no file can be opened
    try:
        with pytest.raises(OSError, match="Too many open files"):
            read_adversarial(tmp_path, "A", CLEAN, EPSILON)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    "filler",
    [b"\xff\xe5\x00\x02" * 1001, b"\xff\xfe\x00\x02" * 1001, b"\xff" * 2000, b"\xff\xe5\xff\xff" + b"\0" * 0xFFFD],
    ids=["empty segments", "empty comments", "fill bytes", "large"],
)
def test_a_jpeg_of_many_segments_is_no_image_and_a_large_one_is(filler: bytes, tmp_path: Path) -> None:
    Picture.fromarray(CLEAN).save(tmp_path / "A.jpg")
    content = (tmp_path / "A.jpg").read_bytes()
    (tmp_path / "A.jpg").write_bytes(content[:2] + filler + content[2:])
    image, _ = read_adversarial(tmp_path, "A", CLEAN, EPSILON)
    assert (image is not None) == filler.endswith(b"\0")


def test_a_file_of_many_more_bytes_than_pixels_is_no_image(tmp_path: Path) -> None:
    written(Picture.fromarray(CLEAN), tmp_path)
    with (tmp_path / "A.png").open("ab") as file:
        file.write(bytes(2 << 20))
    assert read_adversarial(tmp_path, "A", CLEAN, EPSILON) == (None, [ImageNote.UNREADABLE])
