"""What attacks with a limited number of queries share: queries within the limit, and random numbers in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import AttackedBatch

IMAGES_AT_ONCE = 1000
"""As many images at most as a model answers in one call, or those of one row."""
_VALUES_AT_ONCE = 2**16
_STEPS_AT_ONCE = 64

Draw: TypeAlias = Callable[[Tensor, int], Tensor]
"""Draws the numbers of some steps for each row, (n, steps, ...)."""


def affordable(batch: AttackedBatch, rows: Tensor, queries: int) -> Tensor:
    """Return those of the rows that have so many queries left: without a copy if these are all."""
    enough = batch.model.left(rows) >= queries
    return rows if enough.all() else rows[enough]


def ask(batch: AttackedBatch, images: Tensor, rows: Tensor) -> Tensor:
    """Return whether images of these rows reach the goal, bool (n,); those that do are added to the findings."""
    if not len(rows):
        return torch.zeros_like(rows, dtype=torch.bool)
    reached = batch.reached(images, rows)
    batch.findings.add(images[reached], rows[reached], batch.model.queries[rows[reached]])
    return reached


def rows_to_attack(batch: AttackedBatch) -> Tensor:
    """Return the rows without a finding whose clean images do not reach the goal, as the model says for a query each.

    Raise `ValueError` without a limit of queries, which is what ends these attacks.
    """
    if batch.model.limit is None:
        raise ValueError("an attack with queries has no limit of them")
    rows = affordable(batch, batch.rows[~batch.findings.found], 1)
    return rows[~ask(batch, batch.images[rows], rows)]


def in_pieces(rows: Tensor, images_each: int) -> Iterator[Tensor]:
    """Yield the rows in pieces that are few enough to ask for so many images of each in one call."""
    size = max(1, IMAGES_AT_ONCE // images_each)
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


class Steps:
    """Random numbers for one step after another, drawn for many steps at once: a call for each image takes time.

    The rows of a step must have taken part in all steps before. How many steps are drawn at once depends on the size of
    a step alone, so that what is drawn for an image does not depend on the batch.
    """

    def __init__(self, batch: AttackedBatch, draw: Draw, values: int) -> None:
        self._draw, self._count = draw, len(batch.images)
        self._at_once = max(1, min(_STEPS_AT_ONCE, _VALUES_AT_ONCE // values))
        self._next = self._at_once
        self._numbers = torch.empty(0)

    def next(self, rows: Tensor) -> Tensor:
        """Return the numbers of the next step for these rows, (n, ...)."""
        if self._next == self._at_once:
            drawn = self._draw(rows, self._at_once)
            if len(rows) == self._count:
                self._numbers = drawn
            else:
                if not len(self._numbers):
                    self._numbers = drawn.new_empty((self._count, *drawn.shape[1:]))
                self._numbers[rows] = drawn
            self._next = 0
        self._next += 1
        numbers = self._numbers[:, self._next - 1]
        return numbers if len(rows) == self._count else numbers[rows]
