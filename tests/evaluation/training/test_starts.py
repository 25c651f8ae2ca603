"""Start images for targeted attacks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evaluation.training.start_images import write_starts


def test_the_file_has_as_many_start_images_of_each_class_as_asked(tmp_path: Path) -> None:
    assert write_starts(tmp_path / "starts.npz", "digits", split="dev", per_class=2) == 20
    with np.load(tmp_path / "starts.npz") as arrays:
        assert arrays["images"].shape == (20, 64, 64, 3)
        assert np.bincount(arrays["labels"]).tolist() == [2] * 10
