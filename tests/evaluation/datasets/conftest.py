from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from PIL import Image as Picture

WriteImage: TypeAlias = Callable[..., None]


@pytest.fixture
def write_image() -> WriteImage:
    """Write one picture of an even colour; parents are made."""

    def write(path: Path, value: int = 100, *, side: int = 64, mode: str = "RGB") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        Picture.fromarray(np.full((side, side, 3), value, np.uint8)).convert(mode).save(path)

    return write
