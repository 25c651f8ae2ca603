"""Tiny ImageNet in the layout of Stanford's archive: 200 classes, 64 x 64 JPEG files.

    wnids.txt                               one WordNet id per line; the line number is the label
    words.txt                               WordNet id, tab, words
    train/<wnid>/<wnid>_boxes.txt           image name, tab, box: the images of the class
    train/<wnid>/images/<name>.JPEG
    val/val_annotations.txt                 image name, tab, WordNet id, tab, box
    val/images/<name>.JPEG

The images under test/ have no labels and are not used.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path

from evaluation.datasets.base import Dataset, Reading
from evaluation.datasets.image_files import ExpectedImage, read_samples, refuse_if_any, relative_name, required_text
from evaluation.domain.images import ImageShape

_SHAPE = ImageShape(64, 64, 3)


def tiny_imagenet(root: Path) -> Dataset:
    """Return the data set at `root`; splits "train" (classes alternate) and "validation" (order of the annotations)."""
    wnids = tuple(required_text(root / "wnids.txt", root).split())
    words = dict(line.partition("\t")[::2] for line in required_text(root / "words.txt", root).splitlines())
    problems = [
        f"wnids.txt: {wnid} is listed more than once" for wnid in sorted({w for w in wnids if wnids.count(w) > 1})
    ]
    problems += [f"words.txt: {wnid} of wnids.txt has no words" for wnid in wnids if not words.get(wnid)]
    if len(wnids) < 2:
        problems.append("wnids.txt: names fewer than two classes")
    refuse_if_any(problems, root)
    return Dataset(
        name="tiny-imagenet",
        class_names=tuple(words[wnid] for wnid in wnids),
        shape=_SHAPE,
        splits={"train": partial(_train, root, wnids), "validation": partial(_validation, root, wnids)},
    )


def _train(root: Path, wnids: tuple[str, ...], count: int | None) -> Reading:
    problems: list[str] = []
    classes: list[list[tuple[int, str]]] = []
    for label, wnid in enumerate(wnids):
        folder = root / "train" / wnid
        boxes = folder / f"{wnid}_boxes.txt"
        if not boxes.is_file():
            problems.append(f"{relative_name(boxes, root)}: missing")
            continue
        names = [line.split("\t")[0] for line in boxes.read_text(encoding="utf-8").splitlines()]
        problems += _unlisted(folder / "images", names, boxes, root)
        classes.append([(label, name) for name in names])
    problems += [
        f"{relative_name(path, root)}: unlabelled, the folder is not in wnids.txt"
        for path in sorted((root / "train").glob("*"))
        if path.name not in wnids
    ]
    alternating = islice(filter(None, chain.from_iterable(zip_longest(*classes))), count)
    entries = [ExpectedImage(root / "train" / wnids[label] / "images" / name, label) for label, name in alternating]
    return read_samples(entries, _SHAPE, problems, root)


def _validation(root: Path, wnids: tuple[str, ...], count: int | None) -> Reading:
    annotations = root / "val" / "val_annotations.txt"
    labels = {wnid: label for label, wnid in enumerate(wnids)}
    folder = root / "val" / "images"
    problems, entries, names = [], [], []
    for number, line in enumerate(required_text(annotations, root).splitlines(), start=1):
        name, wnid = [*line.split("\t"), ""][:2]
        names.append(name)
        if wnid in labels:
            entries.append(ExpectedImage(folder / name, labels[wnid]))
        else:
            problems.append(
                f"{relative_name(folder / name, root)}: unlabelled, line {number} of its annotations names {wnid!r}"
            )
    problems += _unlisted(folder, names, annotations, root)
    return read_samples(entries[:count], _SHAPE, problems, root)


def _unlisted(folder: Path, names: list[str], listing: Path, root: Path) -> list[str]:
    """Return problems: files of `folder` that `listing` does not name, and names that it repeats."""
    known = set(names)
    problems = [
        f"{relative_name(path, root)}: unlabelled, not listed in {listing.name}"
        for path in sorted(folder / name for name in _names_in(folder) - known)
    ]
    if len(known) < len(names):
        problems.append(f"{relative_name(listing, root)}: names {len(names) - len(known)} images more than once")
    return problems


def _names_in(folder: Path) -> set[str]:
    if not folder.is_dir():
        return set()
    # 100,000 `Path` objects take seconds to create and sort, names do not
    with os.scandir(folder) as found:
        return {entry.name for entry in found}
