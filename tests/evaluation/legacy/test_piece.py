"""The samples of a piece, as the supervisor of a submission of 2018 keeps them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np

from avc2018.piece import AttackPiece
from gauntlet import frames
from gauntlet.connection import Connection, Frame

IMAGES = np.arange(2 * 12, dtype=np.uint8).reshape(2, 2, 2, 3)


def made() -> tuple[AttackPiece, bytearray]:
    rows = [frames.PIECE_SAMPLE.pack(5, 1, -1, 0), frames.PIECE_SAMPLE.pack(6, 2, -1, 0)]
    buffer = bytearray(b"".join([frames.PIECE_PAYLOAD.pack(9, 1000, 0), *rows, IMAGES.tobytes()]))
    welcome = SimpleNamespace(welcome=SimpleNamespace(shape=(2, 2, 3), budget=10))
    return AttackPiece(cast("Connection", welcome), Frame(frames.PIECE, 2, 0, memoryview(buffer)), 0), buffer


def test_a_piece_has_the_number_label_budget_and_clean_image_of_each_sample() -> None:
    piece, _ = made()
    assert [(sample.number, sample.label, sample.left) for sample in piece.samples] == [(5, 1, 10), (6, 2, 10)]
    np.testing.assert_array_equal(piece.clean, IMAGES)


def test_later_frames_in_the_same_buffer_do_not_change_the_images() -> None:
    piece, buffer = made()
    buffer[:] = bytes(len(buffer))
    np.testing.assert_array_equal(piece.clean, IMAGES)
    np.testing.assert_array_equal([sample.image for sample in piece.samples], IMAGES)
