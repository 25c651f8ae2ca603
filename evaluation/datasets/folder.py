"""Data set with a folder per class: `<root>/<split>/<class>/<image>`, or `<root>/<class>/<image>` as the split "all".

Class names in sorted order are the labels 0, 1, ...; every file in a class folder must be an image of the same size
as the first. Classes alternate, so that the first samples of a split include all of them.
"""

from __future__ import annotations

from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

from evaluation.datasets.base import Dataset, Reading
from evaluation.datasets.image_files import ExpectedImage, image_shape, read_samples, refuse_if_any, relative_name
from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import ImageShape

WHOLE = "all"
"""The split of a folder without split folders."""


def folder(root: Path) -> Dataset:
    """Return the data set at `root`. Raise `DatasetRefusal` for fewer than two classes with a readable image."""
    if not root.is_dir():
        raise DatasetRefusal(f"{root} is not a folder", fix="name a folder with one folder per class")
    splits = _splits(root)
    names = sorted({path.name for split in splits.values() for path in _folders(split)})
    if len(names) < 2:
        raise DatasetRefusal(
            f"{root} has {len(names)} class folders, at least two are required",
            fix="arrange it as <class>/<image> or <split>/<class>/<image>",
        )
    if wrong := [name for name in (*names, *splits) if not _is_text(name)]:
        raise DatasetRefusal(f"{root} has a folder with the name {wrong[0]!a}, which is not UTF-8", fix="rename it")
    inside = [path for split in splits.values() for name in names for path in _inside(split / name)]
    shape = next((shape for shape in map(image_shape, inside) if shape), None)
    if shape is None:
        refuse_if_any([f"{relative_name(path, root)}: corrupt, or not an image" for path in inside], root)
        raise DatasetRefusal(f"{root}: no class folder contains an image", fix="add images")
    return Dataset(
        name=f"folder {root.name}",
        class_names=tuple(names),
        shape=shape,
        splits={name: partial(_read, root, path, tuple(names), shape) for name, path in splits.items()},
    )


def _splits(root: Path) -> dict[str, Path]:
    """Return the split folders, which contain folders; without them the whole tree is one split."""
    nested = [path for path in _folders(root) if _folders(path)]
    return {path.name: path for path in _folders(root)} if nested else {WHOLE: root}


def _read(root: Path, split: Path, names: tuple[str, ...], shape: ImageShape, count: int | None) -> Reading:
    problems = [
        f"{relative_name(path, root)}: unlabelled, it is outside every class folder"
        for level in sorted({split, root})
        for path in _inside(level)
        if not path.is_dir()
    ]
    classes = [[ExpectedImage(path, label) for path in _inside(split / name)] for label, name in enumerate(names)]
    problems += [
        f"{relative_name(split / name, root)}: the class folder is empty"
        for name, entries in zip(names, classes, strict=True)
        if not entries and (split / name).is_dir()
    ]
    alternating = [entry for entry in chain.from_iterable(zip_longest(*classes)) if entry is not None]
    return read_samples(alternating[:count], shape, problems, root)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _folders(path: Path) -> list[Path]:
    return [inner for inner in _inside(path) if inner.is_dir()]


def _inside(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else []
