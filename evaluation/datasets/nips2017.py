"""Images of the NIPS 2017 competition: a table, and 299 x 299 PNG files.

    images.csv              ImageId, ..., TrueLabel, TargetClass, ...; labels are 1 to 1000
    images/<ImageId>.png

The competition called the table dev_dataset.csv, copies call it images.csv: both names are accepted.

Labels here are 0 to 999: label k of the table is k - 1 (its 0, "background", is never used, as in the code of
2017; the paper says nothing of numbers). Targets come from the table.
"""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

from evaluation.datasets.base import Dataset, Reading
from evaluation.datasets.image_files import ExpectedImage, read_samples, relative_name, required_text
from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import ImageShape

_SHAPE = ImageShape(299, 299, 3)
_CLASSES = 1000
_TABLES = ("images.csv", "dev_dataset.csv")
_COLUMNS = ("ImageId", "TrueLabel", "TargetClass")


def nips2017(root: Path) -> Dataset:
    """Return the data set at `root`; its only split is "dev", in the order of the table."""
    name = next((name for name in _TABLES if (root / name).exists()), None)
    if name is None:
        raise DatasetRefusal(
            f"{root}: neither {' nor '.join(_TABLES)} exists", fix="name the folder with the table and images/"
        )
    table = required_text(root / name, root)
    header = next(csv.reader(table.splitlines()), [])
    missing = [column for column in _COLUMNS if column not in header]
    if missing:
        raise DatasetRefusal(
            f"{root}: {name} has no column {', '.join(missing)}",
            fix="use the table that the competition published",
        )
    return Dataset(
        name="nips2017",
        class_names=tuple(str(number) for number in range(1, _CLASSES + 1)),
        shape=_SHAPE,
        splits={"dev": partial(_read, root, name, table)},
    )


def _read(root: Path, name: str, table: str, count: int | None) -> Reading:
    folder = root / "images"
    problems: list[str] = []
    entries: list[ExpectedImage] = []
    known: set[Path] = set()
    for row in csv.DictReader(table.splitlines()):
        path = folder / f"{row['ImageId']}.png"
        label, target = _number(row["TrueLabel"]), _number(row["TargetClass"])
        if path in known:
            problems.append(f"{relative_name(path, root)}: listed more than once in {name}")
        elif label is None or target is None:
            values = f"TrueLabel {row['TrueLabel']!r}, TargetClass {row['TargetClass']!r}"
            problems.append(f"{relative_name(path, root)}: unlabelled, {values}: both must be 1 to {_CLASSES}")
        elif label == target:
            problems.append(f"{relative_name(path, root)}: its target is its true label")
        else:
            entries.append(ExpectedImage(path, label, target, row["ImageId"]))
        known.add(path)
    problems += [
        f"{relative_name(path, root)}: unlabelled, not listed in {name}"
        for path in sorted(folder.glob("*"))
        if path not in known
    ]
    return read_samples(entries[:count], _SHAPE, problems, root)


def _number(text: str | None) -> int | None:
    """Return a label 1 to 1000 of the table as 0 to 999, None for anything else."""
    try:
        number = int(text or "")
    except ValueError:
        return None
    return number - 1 if 1 <= number <= _CLASSES else None
