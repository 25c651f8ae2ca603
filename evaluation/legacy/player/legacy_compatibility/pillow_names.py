"""Pillow, given files that are open as text: in Python 2 on Linux those were files of bytes."""

from __future__ import annotations

import functools
import io
from typing import Any


def restore(module: Any) -> None:
    """Have `open` and `save` of `PIL.Image` read and write the bytes of a file that is open as text."""
    open_image, save = module.open, module.Image.save

    @functools.wraps(open_image)
    def open_bytes(fp: Any, *arguments: Any, **named: Any) -> Any:
        return open_image(_bytes_of(fp), *arguments, **named)

    @functools.wraps(save)
    def save_bytes(self: Any, fp: Any, *arguments: Any, **named: Any) -> None:
        save(self, _bytes_of(fp), *arguments, **named)

    module.open, module.Image.save = open_bytes, save_bytes


def _bytes_of(file: Any) -> Any:
    return file.buffer if isinstance(file, io.TextIOWrapper) else file
