"""Linear models, whose smallest adversarial distances are known exactly."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, Findings
from evaluation.formats.curves.models.classifier import Classifier, Loss, NetworkClassifier
from evaluation.formats.curves.models.counted_model import CountedModel
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm


class LinearModel:
    """A linear model of `classes`, with images of side x side pixels that lie so that [0, 1] never binds.

    The larger the `spread` of the images, the farther they are from the boundaries, and the more the cross-entropy is
    that of the nearest boundary alone.
    """

    def __init__(self, seed: int, classes: int = 10, side: int = 8, count: int = 40, spread: float = 0.02) -> None:
        random = torch.Generator().manual_seed(seed)
        self.side, self.classes = side, classes
        linear = nn.Linear(3 * side * side, classes)
        with torch.no_grad():
            linear.weight.copy_(torch.randn(linear.weight.shape, generator=random))
            linear.bias.copy_(-0.5 * linear.weight.sum(dim=1))
        self.classifier: Classifier = NetworkClassifier(nn.Sequential(nn.Flatten(), linear), classes, "linear")
        self.weight = linear.weight.detach().double()
        self.images = 0.5 + (spread * torch.randn((count, 3, side, side), generator=random)).clamp(-0.25, 0.25)
        self.labels = self.classifier.labels(self.images)
        self.targets = (self.labels + 1 + torch.randint(classes - 1, (count,), generator=random)) % classes

    def smallest(self, norm: Norm, goal: Goal = Goal.UNTARGETED) -> Tensor:
        """Return the smallest adversarial distance of each image, float64 (n,).

        From class y to class k it is margin / dual norm of the difference of their weights; to a target class all
        other boundaries matter too, so the distance to its own boundary with y is a lower bound.
        """
        logits = self.images.double().flatten(1) @ self.weight.T - 0.5 * self.weight.sum(dim=1)
        own = logits.gather(1, self.labels[:, None])
        change = self.weight[None, :] - self.weight[self.labels][:, None]
        length = change.abs().sum(dim=2) if norm is Norm.LINF else change.norm(dim=2)
        distances = (own - logits) / length.clamp(min=1e-30)
        if goal is Goal.TARGETED:
            return distances.gather(1, self.targets[:, None])[:, 0]
        return distances.scatter(1, self.labels[:, None], torch.inf).amin(dim=1)

    def batch(
        self,
        attack: Attack,
        norm: Norm,
        goal: Goal = Goal.UNTARGETED,
        *,
        budgets: Tensor | None = None,
        limit: int | None = None,
        rows: slice | Tensor = slice(None),
        strengths: Sequence[int] = (),
        seed: int = 0,
        substitute: Classifier | None = None,
    ) -> AttackedBatch:
        """Return a batch of some of the images."""
        images = self.images[rows]
        return AttackedBatch(
            images,
            self.labels[rows],
            self.targets[rows] if goal is Goal.TARGETED else None,
            torch.arange(len(self.images))[rows].tolist(),
            norm,
            budgets if budgets is not None else torch.full((len(images),), torch.inf),
            CountedModel(self.classifier, attack.knowledge, len(images), limit),
            Findings(images, norm, strengths),
            seed,
            substitute,
        )


class CountingClassifier(Classifier):
    """A model that counts the images that it sees."""

    def __init__(self, model: Classifier) -> None:
        self._model, self.classes, self.images_seen = model, model.classes, 0
        self.name, self.digest = model.name, model.digest

    @property
    def offers(self) -> frozenset[Knowledge]:
        return self._model.offers

    def labels(self, images: Tensor) -> Tensor:
        self.images_seen += len(images)
        return self._model.labels(images)

    def logits(self, images: Tensor) -> Tensor:
        self.images_seen += len(images)
        return self._model.logits(images)

    def gradient(self, images: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        self.images_seen += len(images)
        return self._model.gradient(images, loss)
