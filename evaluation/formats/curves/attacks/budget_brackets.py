"""Intervals in which the smallest budgets of images lie, and which budgets to try next."""

from __future__ import annotations

import torch
from torch import Tensor

DOUBLINGS = 5
"""Of the first budget, up to the largest that is tried."""

_FIRST = 0.9
"""Of the linear estimate: tries that fail nearly say more than tries that succeed."""
_BELOW = 0.94
"""Of the budget at which the margin would vanish, as long as no try has failed."""
_SHORT = 0.12
"""By how much of an extrapolated step the next try stays below its end."""
_FREE_TRIES = 6
"""From then on every second try halves the interval, so that the number of tries is bounded."""


class Brackets:
    """The interval of each of n images: from the largest budget that failed to the smallest that was enough.

    Where margins are known, the next budget is that at which a line through the margins of the last two failures
    vanishes: first from below, whose margins are smooth, then a little above and below it, until the interval is as
    short as bisection would make it. Elsewhere the first budget is doubled, and the interval is bisected.
    """

    def __init__(self, first: float, halvings: int, count: int, device: torch.device) -> None:
        self._first, self._most, self._halvings = first, first * 2.0**DOUBLINGS, halvings
        self.low = torch.zeros(count, device=device)
        self.high = torch.full_like(self.low, torch.inf)
        unknown = torch.full_like(self.low, torch.nan)
        self._low_margin, self._high_margin = unknown.clone(), unknown.clone()
        self._before, self._before_margin = unknown.clone(), unknown.clone()
        self._failures = torch.zeros(count, dtype=torch.int64, device=device)
        self._tries = torch.zeros_like(self._failures)
        self.budgets = torch.full_like(self.low, first)
        """What to try next."""

    def start(self, margins: Tensor, estimates: Tensor) -> None:
        """Take the margins of the clean images, and linear estimates of the smallest budgets, where they are known."""
        self._low_margin = margins.clone()
        usable = estimates.isfinite() & (estimates > 0)
        budgets = (_FIRST * estimates).clamp(self._first / 2**self._halvings, self._most)
        self.budgets = torch.where(usable, budgets, self.budgets)

    @property
    def precision(self) -> Tensor:
        """How short intervals become: the part that so many halvings leave of the interval between two doublings."""
        doublings = (self.high / self._first).log2().ceil().sub(1.0).clamp(0.0, float(DOUBLINGS))
        precision: Tensor = self._first * doublings.exp2() / 2**self._halvings
        return precision

    def open(self) -> Tensor:
        """Return the places of images whose interval is to become shorter, int64."""
        wide = torch.where(self.high.isfinite(), self.high - self.low > self.precision, self.low < self._most)
        return wide.nonzero()[:, 0]

    def add(self, places: Tensor, distances: Tensor, margins: Tensor) -> None:
        """Add what tries of `budgets` found for some images: distances, infinite for failures, and highest margins."""
        found = distances.isfinite()
        # a model that rounds images may see a change above the budget: every success shortens the interval all the same
        enough = torch.minimum(distances, self.budgets[places])
        nearer = found & (enough < self.high[places])
        self.high[places[nearer]], self._high_margin[places[nearer]] = enough[nearer], margins[nearer]
        failed = places[~found]
        self._before[failed], self._before_margin[failed] = self.low[failed], self._low_margin[failed]
        self.low[failed], self._low_margin[failed] = self.budgets[failed], margins[~found]
        self._failures[failed] += 1
        self._tries[places] += 1
        self.budgets = torch.where(self.high.isfinite(), self._within(), self._beyond())

    def _beyond(self) -> Tensor:
        """Return budgets for images without a success: by extrapolation, at least ever more times as large."""
        growth = self._failures.double().exp2().float()
        least = torch.where(self._failures > 2, growth / 4.0, 1.05)
        root = self._root()
        longer = torch.where(root.isfinite(), root + _SHORT * (root - self.low), torch.inf)
        known = torch.minimum(torch.maximum(longer, least * self.low), 2.0 * growth * self.low)
        return torch.where(self._before_margin.isfinite(), known, 2.0 * self.low).clamp(max=self._most)

    def _within(self) -> Tensor:
        """Return budgets within the intervals."""
        low, high, precision = self.low, self.high, self.precision
        middle = (low + high) / 2.0
        # 1. nothing has failed yet: a line from the clean image to the success
        line = low + (high - low) * -self._low_margin / (self._high_margin - self._low_margin)
        below = line * _BELOW ** self._tries.float()
        # 2. the line through two failures: from below while it is long, then around its end
        root = self._root()
        short = _SHORT * (root - low)
        near = torch.where(high - root > 1.5 * precision, root + 0.45 * precision, root - 0.45 * precision)
        near = torch.where((high - root > 1.5 * precision) | (root - low > 1.5 * precision), near, middle)
        tried = torch.where(short > precision, root - short, near)
        past = torch.minimum(high - precision, high - (high - low) / 4.0)
        tried = torch.where(root >= high - 0.5 * precision, past, tried)
        tried = torch.where(self._failures > 0, tried, below)
        # 3. neither too near to an end nor, where margins mislead, for ever
        tried = torch.minimum(torch.maximum(tried, low + 0.95 * precision), high - 0.95 * precision)
        halve = (high - low <= 2.0 * precision) | ((self._tries > _FREE_TRIES) & (self._tries % 2 == 0))
        tried = torch.where(halve | ~tried.isfinite(), middle, tried)
        # rounded, so that what batches of other sizes change of a margin does not change the budget
        grid = precision / 8.0
        return torch.where(tried == middle, middle, (tried / grid).round() * grid)

    def _root(self) -> Tensor:
        """Return where the line through the margins of the last two failures vanishes; not finite: it does not rise."""
        rise = self._low_margin - self._before_margin
        root = self.low - self._low_margin * (self.low - self._before) / rise
        return torch.where(rise > 0, root, torch.nan)
