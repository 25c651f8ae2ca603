"""The smallest budget within which a constrained attack succeeds, for each image (Dong et al. 2020, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, Findings
from evaluation.formats.curves.attacks.budget_brackets import Brackets
from evaluation.formats.curves.threat_models import Norm

BISECTIONS = 10
"""Of the interval in which the smallest budget lies (authors' code of Dong et al. 2020)."""
MULTIPLES = 32
"""Of the first budget, that are tried if success is not monotone."""

BatchOf: TypeAlias = Callable[[Attack, Tensor, Tensor], AttackedBatch]
"""Returns a batch of the images of some rows (n,), with a budget for each (n,)."""


@dataclass(frozen=True, eq=False)
class Searched:
    """What a search found for n images. Distances are infinite where no budget was enough."""

    images: Tensor
    """The nearest adversarial of each image, or the image itself."""
    distances: Tensor
    """Its distance, float32 (n,), which may be below the budget."""
    tried_budgets: Tensor
    """The budgets in the order of the tries, float32 (n, tries); NaN: this image took no part in it."""
    tried_found: Tensor
    """Whether the attack succeeded, bool (n, tries)."""


def search(attack: Attack, batch_of: BatchOf, rows: Tensor, first: float, halvings: int = BISECTIONS) -> Searched:
    """Return the nearest adversarial of each row, from a search that starts at the budget `first`.

    The largest budget tried is `first`, doubled five times; the smallest successful one is found to the precision of
    `halvings` bisections between two doublings, in fewer tries where `Brackets` knows margins. An attack with
    `one_step` is not monotone in the budget: all multiples of the first are tried, and below the smallest successful
    one it is bisected. Only images that are still searched for take part in a try; what is found depends on the image
    alone, not on the batch.
    """
    tries = _Tries(attack, batch_of, rows)
    if not len(rows):
        return tries.result()
    return _one_step(tries, first, halvings) if attack.one_step else _monotone(tries, first, halvings)


def _monotone(tries: _Tries, first: float, halvings: int) -> Searched:
    brackets = Brackets(first, halvings, len(tries.everything), tries.distances.device)
    brackets.start(*tries.linear_estimates())
    while len(places := brackets.open()):
        tries.run(places, brackets.budgets[places])
        brackets.add(places, tries.last_distances, tries.last_margins)
    return tries.result()


def _one_step(tries: _Tries, first: float, halvings: int) -> Searched:
    # 1. every multiple, from the largest down, for the record; in Linf all budgets from 1 give the same image
    high = torch.full_like(tries.distances, torch.inf)
    most = 1.0 if tries.norm is Norm.LINF else torch.inf
    multiples = [number for number in range(1, MULTIPLES + 1) if (number - 1) * first < most]
    for number in reversed(multiples):
        found = tries.run(tries.everything, torch.full_like(high, number * first))
        high[found] = number * first
    # 2. bisection below the smallest that succeeded
    low = high - first
    searching = (high.isfinite() & (tries.distances > 0)).nonzero()[:, 0]
    for _ in range(halvings):
        middle = (low + high)[searching] / 2.0
        found = tries.run(searching, middle)
        high[searching[found]] = middle[found]
        low[searching[~found]] = middle[~found]
    return tries.result()


class _Tries:
    """Runs of an attack with other budgets, and the nearest image of all."""

    def __init__(self, attack: Attack, batch_of: BatchOf, rows: Tensor) -> None:
        self._attack, self._batch_of, self._rows = attack, batch_of, rows
        self.everything = torch.arange(len(rows), device=rows.device)
        self._whole = batch_of(attack, rows, torch.zeros(len(rows), device=rows.device))
        self.norm = self._whole.norm
        self.images = self._whole.images.clone()
        self.distances = torch.full((len(rows),), torch.inf, device=rows.device)
        self._budgets: list[Tensor] = []
        self._found: list[Tensor] = []
        self.last_distances = self.last_margins = self.distances
        """What the last run found for each of its images: the distance, and the highest margin."""

    def linear_estimates(self) -> tuple[Tensor, Tensor]:
        """Return the margin of each clean image, and the smallest budget if the model were linear; NaN: not known."""
        return self._whole.linear_estimates()

    def run(self, places: Tensor, budgets: Tensor) -> Tensor:
        """Attack the images of some rows, and return which of them the attack succeeded with, bool (n,)."""
        if not len(places):
            return torch.zeros_like(places, dtype=torch.bool)
        batch = self._batch_of(self._attack, self._rows[places], budgets)
        batch.clean_from = (self._whole, places)
        batch.findings = Findings(batch.images, batch.norm, seen=batch.findings.seen)
        self._attack.run(batch)
        found, distances = batch.findings.found, batch.findings.distances
        self.last_distances, self.last_margins = distances, batch.margins
        nearer = distances < self.distances[places]
        self.images[places[nearer]] = batch.findings.images[nearer]
        self.distances[places[nearer]] = distances[nearer]
        self._budgets.append(torch.full_like(self.distances, torch.nan).index_copy(0, places, budgets))
        self._found.append(torch.zeros_like(self.distances, dtype=torch.bool).index_copy(0, places, found))
        return found

    def result(self) -> Searched:
        """Return what was found."""
        count = len(self._rows)
        return Searched(
            self.images,
            self.distances,
            torch.stack(self._budgets, dim=1) if self._budgets else torch.full((count, 0), torch.nan),
            torch.stack(self._found, dim=1) if self._found else torch.zeros((count, 0), dtype=torch.bool),
        )
