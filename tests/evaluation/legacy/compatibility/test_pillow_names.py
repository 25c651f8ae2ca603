"""Pillow, given files that are open as text."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import PIL.Image

from legacy_compatibility.pillow_names import restore


def test_an_image_is_written_to_and_read_from_a_file_that_is_open_as_text(tmp_path: Path) -> None:
    legacy = SimpleNamespace(open=PIL.Image.open, Image=type("Image", (PIL.Image.Image,), {}))  # not Pillow itself
    restore(legacy)
    image = PIL.Image.new("RGB", (2, 1), (137, 80, 255))
    with (tmp_path / "image.png").open("w") as file:
        legacy.Image.save(image, file, format="PNG")
    with (tmp_path / "image.png").open() as file, legacy.open(file) as read:
        assert read.getpixel((1, 0)) == (137, 80, 255)
    image.save(tmp_path / "image.bmp")
    with legacy.open(tmp_path / "image.bmp") as read:
        assert read.format == "BMP"
