"""Released samples of a round as a data set."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from evaluation.bundle.released_sample_check import check_images
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import DatasetRefusal

IMAGES = np.arange(3 * 4 * 5 * 3, dtype=np.uint8).reshape(3, 4, 5, 3)


def archive(
    path: Path,
    images: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = IMAGES,
    without: str = "",
    packed: int = zipfile.ZIP_STORED,
) -> Path:
    """Write an archive of released images, as the site does."""
    files = {
        "samples.csv": b"number,label,target,hash\n0,1,2,aa\n1,0,1,bb\n2,2,0,cc\n",
        "classes.json": json.dumps(["cat", "dog", "owl"]).encode(),
    }
    for number, image in enumerate(images):
        file = io.BytesIO()
        Picture.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).save(file, "png")
        files[f"images/{number:05d}.png"] = file.getvalue()
    with zipfile.ZipFile(path, "w", packed) as written:
        for name, content in files.items():
            if name != without:
                written.writestr(name, content)
    return path


@pytest.mark.parametrize("channels", [1, 3])
def test_it_reads_images_labels_and_targets_in_the_order_of_the_round(tmp_path: Path, channels: int) -> None:
    images = IMAGES[..., :channels]
    dataset = load_dataset(f"released:{archive(tmp_path / 'a.zip', images)}")
    assert dataset.class_names == ("cat", "dog", "owl")
    assert tuple(dataset.shape) == (4, 5, channels)
    samples = dataset.samples("round")
    assert [(sample.number, sample.label, sample.target) for sample in samples] == [(0, 1, 2), (1, 0, 1), (2, 2, 0)]
    for sample, image in zip(samples, images, strict=True):
        np.testing.assert_array_equal(sample.image, image)
    assert len(dataset.samples("round", 2)) == 2


@pytest.mark.parametrize("missing", ["samples.csv", "classes.json", "images/00000.png", "images/00002.png"])
def test_it_rejects_an_incomplete_archive(tmp_path: Path, missing: str) -> None:
    path = archive(tmp_path / "a.zip", without=missing)
    with pytest.raises(DatasetRefusal, match="is not an archive of a round's released images"):
        load_dataset(f"released:{path}").samples("round")


def test_it_rejects_another_file(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_text("no")
    with pytest.raises(DatasetRefusal, match=r"a\.zip is not an archive"):
        load_dataset(f"released:{tmp_path / 'a.zip'}")


@pytest.mark.parametrize("packed", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_it_rejects_a_damaged_archive(tmp_path: Path, packed: int) -> None:
    path = archive(tmp_path / "a.zip", np.zeros((3, 4, 5, 3), np.uint8), packed=packed)
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with suppress(DatasetRefusal):  # some bytes do not matter
            load_dataset(f"released:{path}").samples("round")
        with path.open("rb") as file:
            assert all("a.zip" in text for _, text in check_images([], lambda sample: (), "a.zip", file))
