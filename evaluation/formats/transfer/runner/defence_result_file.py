"""Reader of a defence's result file, as the code of 2017 read it: rows NAME.png,LABEL. Pure."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

import numpy as np
from numpy.typing import NDArray

from evaluation.formats.transfer.results import NO_LABEL, BatchReason, RowNote
from evaluation.formats.transfer.rules import FIRST_LABEL, TransferRules

_ENDINGS = (".png", ".jpg")


@dataclass(frozen=True, eq=False)
class ResultFile:
    """The labels of a batch (see `DefenceBatch`), what was noticed about rows, and why the whole file was ignored."""

    labels: NDArray[np.int16]
    rows: dict[RowNote, int]
    reason: BatchReason | None = None


def read_result_file(content: bytes | None, names: Sequence[str], rules: TransferRules) -> ResultFile:
    """Return the labels of the images `names` in a file with this content, None if there is no file.

    An image with an empty name was not given to the defence, and gets no label.
    An ending .png or .jpg is cut, a name without one is accepted. Rows that are not a name and a whole number are
    skipped, further columns and unknown names ignored. The last row of a name counts.
    """
    labels = np.full(len(names), NO_LABEL, np.int16)
    if content is None:
        return ResultFile(labels, {}, BatchReason.NO_RESULT)
    if len(content) > rules.result_bytes:
        return ResultFile(labels, {}, BatchReason.RESULT_TOO_LARGE)
    try:
        rows = list(csv.reader(StringIO(content.decode("utf-8"))))
    except (UnicodeDecodeError, csv.Error):
        return ResultFile(labels, {}, BatchReason.UNREADABLE_RESULT)
    places = {name: index for index, name in enumerate(names) if name}
    noticed: Counter[RowNote] = Counter()
    for row in rows:
        if not row:  # an empty line
            continue
        try:
            name, number = row[0], int(row[1])
        except (IndexError, ValueError):
            noticed[RowNote.SKIPPED] += 1
            continue
        index = places.get(name[:-4] if name.endswith(_ENDINGS) else name)
        if index is None:
            noticed[RowNote.UNKNOWN_NAME] += 1
            continue
        if labels[index] != NO_LABEL:
            noticed[RowNote.REPEATED] += 1
        label = number - FIRST_LABEL
        labels[index] = label if 0 <= label < rules.classes else rules.classes
    outside = int((labels == rules.classes).sum())
    if outside:
        noticed[RowNote.OUTSIDE_CLASSES] = outside
    return ResultFile(labels, dict(noticed))
