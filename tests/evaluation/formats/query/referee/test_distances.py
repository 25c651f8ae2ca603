"""Distances to the clean images of a piece: exact, and the same with and without the compiled library."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.formats.query.referee.compiled_distances import CompiledDistances, load
from evaluation.formats.query.referee.distances_build_hook import compile_distances
from evaluation.formats.query.referee.numpy_distances import NumpyDistances

ROOT = Path(__file__).resolve().parents[5]
SOURCE = ROOT / "evaluation" / "formats" / "query" / "referee" / "distances.c"
WAYS = ("numpy", "compiled") if shutil.which("cc") else ("numpy",)
SIZES = (1, 7, 192, 1024, 1025, 12_288, 299 * 299 * 3)

Pixels = NDArray[np.uint8]


@pytest.fixture(scope="module", params=WAYS)
def make(request: Any, tmp_path_factory: Any) -> Any:
    if request.param == "numpy":
        return NumpyDistances
    built = tmp_path_factory.mktemp("library") / "_distances.so"
    assert compile_distances(SOURCE, built)
    library = load(built)
    assert library is not None
    return lambda clean: CompiledDistances(clean, library)


def exact(images: Pixels, clean: Pixels) -> NDArray[np.int64]:
    """Every distance by the definition: (images, clean images)."""
    sums: NDArray[np.int64] = ((images[:, None].astype(np.int64) - clean[None]) ** 2).sum(axis=2)
    return sums


def draw(count: int, size: int, seed: int) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (count, size), np.uint8)


@pytest.mark.parametrize("size", SIZES)
def test_distances_are_exact_for_images_of_every_size(make: Any, size: int) -> None:
    clean, images = draw(3, size, 1), draw(19, size, 2)
    columns = [index % 3 for index in range(19)]
    squared = make(clean).squared(images, columns)
    assert squared.tolist() == exact(images, clean)[range(19), columns].tolist()


@pytest.mark.parametrize("size", SIZES)
def test_the_largest_distance_is_exact(make: Any, size: int) -> None:
    clean, images = np.zeros((1, size), np.uint8), np.full((9, size), 255, np.uint8)
    assert make(clean).squared(images, [0] * 9).tolist() == [size * 255**2] * 9


@pytest.mark.parametrize("size", SIZES)
def test_bounds_are_never_above_the_distance_and_find_all_that_are_near(make: Any, size: int) -> None:
    clean = draw(4, size, 3)
    images = np.concatenate([clean, clean ^ 1, draw(5, size, 4), np.zeros((2, size), np.uint8)])
    true = exact(images, clean)
    for limits in (true + 0.5, true.astype(float), true / 2, np.zeros(true.shape)):
        bounds = make(clean).bounds(images, limits)
        assert ((bounds <= true) | (bounds >= limits)).all()
        assert (bounds < limits)[true < limits].all()


def test_far_images_are_ruled_out_by_a_part_of_their_bytes(make: Any) -> None:
    clean, images = draw(4, 12_288, 5), draw(6, 12_288, 6)
    limits = exact(images, clean) / 8
    assert (make(clean).bounds(images, limits) >= limits).all()


def test_images_may_stand_anywhere_in_memory(make: Any) -> None:
    clean = draw(2, 192, 7)
    frame = bytearray(3 + 2 * 192)
    frame[3:] = draw(2, 192, 8).tobytes()
    images = np.frombuffer(frame, np.uint8, offset=3).reshape(2, 192)
    assert make(clean).squared(images, [1, 0]).tolist() == exact(images, clean)[[0, 1], [1, 0]].tolist()


def test_no_samples_are_no_error(make: Any) -> None:
    make(np.empty((0, 192), np.uint8))


def test_it_rejects_images_of_another_size(make: Any) -> None:
    with pytest.raises(ValueError, match=r"compared|broadcast"):
        make(draw(2, 192, 9)).squared(draw(1, 191, 10), [0])


def test_without_a_compiler_nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert not compile_distances(SOURCE, tmp_path / "_distances.so")
    assert load(tmp_path / "_distances.so") is None
