"""What an attack sees of a model: as much as the threat model grants, with every query and gradient counted."""

from __future__ import annotations

import torch
from torch import Tensor

from evaluation.formats.curves.models.classifier import Classifier, Loss
from evaluation.formats.curves.threat_models import Knowledge


class DeniedError(Exception):
    """An attack asked for what its threat model does not grant, or for more queries than it has: a defect of it."""


class CountedModel:
    """A model under attack by a batch of `count` images.

    Each call names with `rows` (n,) to which image of the batch each of its n images belongs. `queries` and `gradients`
    (count,) say what each has cost: a gradient costs one pass forwards, which is a query too.
    """

    def __init__(self, classifier: Classifier, knowledge: Knowledge, count: int, limit: int | None = None) -> None:
        self._classifier, self.knowledge, self.limit = classifier, knowledge, limit
        self.classes, self.device, self.random = classifier.classes, classifier.device, classifier.random
        self.rounds = classifier.rounds
        self.tells_margins = knowledge is Knowledge.WHITE_BOX and not classifier.rounds
        """Labels are those of the highest scores, which may be seen."""
        self.queries = torch.zeros(count, dtype=torch.int64, device=classifier.device)
        self.gradients = torch.zeros_like(self.queries)

    def part(self, limit: int | None) -> CountedModel:
        """Return the same model with costs of its own, which start at 0, and a limit of queries for them."""
        return CountedModel(self._classifier, self.knowledge, len(self.queries), limit)

    def add_costs(self, part: CountedModel) -> None:
        """Add the costs of a part of the attack. Raise `DeniedError` if they are too many."""
        self.gradients = self.gradients + part.gradients
        self._spend(self.queries + part.queries)

    def left(self, rows: Tensor) -> Tensor:
        """Return how many queries each of these images of the batch has left, int64 (n,)."""
        if self.limit is None:
            return torch.full_like(rows, torch.iinfo(torch.int64).max)
        return self.limit - self.queries[rows]

    def labels(self, images: Tensor, rows: Tensor) -> Tensor:
        """Return the class of each image, int64 (n,)."""
        self._count(rows)
        return self._classifier.labels(images)

    def logits(self, images: Tensor, rows: Tensor) -> Tensor:
        """Return the logits of each image, (n, classes). Raise `DeniedError` unless scores may be seen."""
        self._require(Knowledge.SCORE, Knowledge.WHITE_BOX)
        self._count(rows)
        return self._classifier.logits(images)

    def gradient(self, images: Tensor, rows: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        """Return logits, and gradients of the loss of each image. Raise `DeniedError` unless they may be seen."""
        self._require(Knowledge.WHITE_BOX)
        self._count(rows)
        self.gradients.index_add_(0, rows, torch.ones_like(rows))
        return self._classifier.gradient(images, loss)

    def _require(self, *granted: Knowledge) -> None:
        if self.knowledge not in granted:
            raise DeniedError(f"the threat model grants {self.knowledge}")

    def _count(self, rows: Tensor) -> None:
        self._spend(self.queries.index_add(0, rows, torch.ones_like(rows)))

    def _spend(self, after: Tensor) -> None:
        if self.limit is not None and (after > self.limit).any():
            raise DeniedError(f"more than {self.limit} queries for one image")
        self.queries = after
