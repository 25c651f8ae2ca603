"""Pillow as in 2017."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import PIL.Image
import pytest
from PIL.Image import Resampling

from legacy_compatibility.pillow_names import restore


class Module:
    """The parts of `PIL.Image` that are changed, so that Pillow itself is not."""

    LANCZOS, BILINEAR, BICUBIC = Resampling.LANCZOS, Resampling.BILINEAR, Resampling.BICUBIC

    def __init__(self) -> None:
        self.open: Any = PIL.Image.open
        self.Image: Any = type("Image", (PIL.Image.Image,), {})


@pytest.fixture
def legacy() -> Any:
    module = Module()
    restore(module)
    return module


def test_filters_have_the_names_of_2017(legacy: Any) -> None:
    assert (legacy.ANTIALIAS, legacy.LINEAR, legacy.CUBIC) == (Module.LANCZOS, Module.BILINEAR, Module.BICUBIC)


def test_an_image_is_written_to_and_read_from_a_file_that_is_open_as_text(legacy: Any, tmp_path: Path) -> None:
    image = PIL.Image.new("RGB", (2, 1), (137, 80, 255))
    with (tmp_path / "image.png").open("w") as file:
        legacy.Image.save(image, file, format="PNG")
    with (tmp_path / "image.png").open() as file, legacy.open(file) as read:
        assert read.getpixel((1, 0)) == (137, 80, 255)
    legacy.Image.save(image, tmp_path / "image.bmp")
    with legacy.open(tmp_path / "image.bmp") as read:
        assert read.format == "BMP"
