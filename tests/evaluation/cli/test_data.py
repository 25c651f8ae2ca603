"""`gauntlet data`: preparation and check."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, value in (("cat", 1), ("dog", 2)):
        folder = tmp_path / "tree" / name
        folder.mkdir(parents=True)
        Image.fromarray(np.full((8, 8, 3), value, np.uint8)).save(folder / "a.png")
    return tmp_path / "tree"


def test_a_prepared_folder_is_checked_and_a_changed_image_is_named(
    gauntlet: Callable[..., Any], tree: Path, tmp_path: Path
) -> None:
    status, out, _ = gauntlet("data", "prepare", f"folder:{tree}", tmp_path / "store", "--json")
    assert status == 0
    assert json.loads(out)["splits"] == {"all": 2}
    assert gauntlet("data", "check", f"folder:{tmp_path / 'store'}")[0] == 0
    (tmp_path / "store" / "images.npy").write_bytes((tmp_path / "store" / "images.npy").read_bytes()[:-1] + b"\7")
    status, _, err = gauntlet("data", "check", f"folder:{tmp_path / 'store'}")
    assert status == 2
    assert "image 1 is not the one that was prepared" in err


def test_it_says_what_the_store_holds_and_how_to_use_it(
    gauntlet: Callable[..., Any], tree: Path, tmp_path: Path
) -> None:
    _, _, err = gauntlet("data", "prepare", f"folder:{tree}", tmp_path / "store")
    assert "folder, 2 classes, 8 x 8 x 3" in err
    assert "all: 2 images" in err
    assert f"--dataset folder:{tmp_path / 'store'}" in err


def test_it_refuses_what_needs_no_preparation(gauntlet: Callable[..., Any], tree: Path, tmp_path: Path) -> None:
    gauntlet("data", "prepare", f"folder:{tree}", tmp_path / "store")
    for source in ("digits", f"folder:{tmp_path / 'store'}"):
        status, _, err = gauntlet("data", "prepare", source, tmp_path / "again")
        assert status == 2
        assert "needs no preparation" in err
