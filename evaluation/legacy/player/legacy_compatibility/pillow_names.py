"""Pillow's names of 2017, and its files that are open as text: in Python 2 on Linux those were files of bytes."""

from __future__ import annotations

import functools
import io
from typing import Any

_FILTERS = {"ANTIALIAS": "LANCZOS", "LINEAR": "BILINEAR", "CUBIC": "BICUBIC"}
"""The filters that Pillow 10 removed, by the names that it kept."""


def restore(module: Any) -> None:
    """Put the filters into `PIL.Image`, and have `open` and `save` take the bytes of a file that is open as text."""
    for name, kept in _FILTERS.items():
        setattr(module, name, getattr(module, kept))
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
