"""Reading the result file of a defence, as the code of 2017 did."""

from __future__ import annotations

import pytest

from evaluation.formats.transfer.results import BatchReason, RowNote
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.defence_result_file import read_result_file

RULES = TransferRules()
NAMES = ("ADV0", "ADV1", "ADV2")


def labels(content: bytes) -> list[int]:
    return [int(label) for label in read_result_file(content, NAMES, RULES).labels]


def test_labels_are_read_in_the_order_of_the_images_and_counted_from_zero() -> None:
    result = read_result_file(b"ADV0.png,1\nADV1.png,2\nADV2.png,1000\n", NAMES, RULES)
    assert (result.labels.tolist(), result.rows, result.reason) == ([0, 1, 999], {}, None)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"ADV0.jpg,1\r\nADV1,2\r\n\r\nADV2.png, 3,more\r\n", [0, 1, 2]),
        (b'"ADV0.png","1"\nADV1.PNG,2\nADV2.png.png,3', [0, -1, -1]),
        (b"", [-1, -1, -1]),
        (b"\xef\xbb\xbfADV0.png,1\nADV1.png,2\n", [-1, 1, -1]),
    ],
)
def test_endings_further_columns_and_missing_rows(content: bytes, expected: list[int]) -> None:
    assert labels(content) == expected


@pytest.mark.parametrize(
    ("content", "expected", "note"),
    [
        (b"ImageId,Label\nADV0.png,1\nADV1.png\nADV2.png,3.0\n", [0, -1, -1], {RowNote.SKIPPED: 3}),
        (b"ADV0.png,1\nother.png,2\n", [0, -1, -1], {RowNote.UNKNOWN_NAME: 1}),
        (b"ADV0.png,1\nADV0.png,2\n", [1, -1, -1], {RowNote.REPEATED: 1}),
        (b"ADV0.png,0\nADV1.png,1001\nADV2.png,-5\n", [1000, 1000, 1000], {RowNote.OUTSIDE_CLASSES: 3}),
        (b"ADV0.png,1e999\nADV1.png,NaN\nADV2.png,0x1\n", [-1, -1, -1], {RowNote.SKIPPED: 3}),
        (b"ADV0.png,\x00\nADV1.png,inf\nADV2.png,1,\x00\n", [-1, -1, 0], {RowNote.SKIPPED: 2}),
        ("ADV0.png,\u0663\nADV1.png,\uff12\nADV2.png,1_0\n".encode(), [2, 1, 9], {}),  # as in 2017
        (b"ADV0.png," + b"9" * 5000 + b"\nADV1.png,7\n", [-1, 6, -1], {RowNote.SKIPPED: 1}),
    ],
)
def test_what_was_noticed_is_counted(content: bytes, expected: list[int], note: dict[RowNote, int]) -> None:
    result = read_result_file(content, NAMES, RULES)
    assert (result.labels.tolist(), result.rows) == (expected, note)


def test_an_image_that_was_not_given_to_the_defence_gets_no_label() -> None:
    result = read_result_file(b".png,1\n,2\nADV0.png,3\n", ("", "ADV0", ""), RULES)
    assert (result.labels.tolist(), result.rows) == ([-1, 2, -1], {RowNote.UNKNOWN_NAME: 2})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, BatchReason.NO_RESULT),
        (b"ADV0.png,1\n" + b"x" * 9_990, BatchReason.RESULT_TOO_LARGE),
        (b"ADV0.png,1\n\xff\xfe", BatchReason.UNREADABLE_RESULT),
        (b"ADV0.png,1\rADV1.png,2\r", BatchReason.UNREADABLE_RESULT),
    ],
)
def test_it_rejects_a_file_that_is_no_result(content: bytes | None, reason: BatchReason) -> None:
    result = read_result_file(content, NAMES, RULES)
    assert (result.labels.tolist(), result.reason) == ([-1, -1, -1], reason)


def test_a_file_of_10_000_bytes_is_read() -> None:
    rows = b"ADV0.png,1\n"
    assert labels(rows + b"\n" * (10_000 - len(rows))) == [0, -1, -1]
