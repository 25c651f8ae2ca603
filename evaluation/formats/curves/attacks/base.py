"""What an attack gets, and where it reports what it finds."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.models.classifier import Classifier, Loss
from evaluation.formats.curves.models.counted_model import CountedModel
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge, Norm
from gauntlet import frames

_ROUNDED = 2.0**-23
"""More than single precision changes of a sum or a difference of values in [0, 1]."""
_TINY = 2.0**-12
"""Budgets above this are so much larger that they can be smaller by it."""


class Findings:
    """The nearest adversarial image of each image of a batch, and how near it was at each strength.

    `strengths` are the numbers of iterations or queries, in ascending order, at which the distance is kept: column k of
    `traces` (n, strengths) has the smallest distance found with at most `strengths[k]`. Without a finding a distance is
    infinite.
    """

    def __init__(
        self,
        clean: Tensor,
        norm: Norm,
        strengths: Sequence[int] = (),
        seen: Callable[[Tensor], Tensor] = lambda images: images,
    ) -> None:
        """`seen` returns images as the model sees them, where it rounds them: these are kept and measured."""
        self._clean, self._norm, self.seen = clean, norm, seen
        self.strengths = tuple(strengths)
        self._strengths = torch.tensor(strengths, dtype=torch.int64, device=clean.device)
        self.images = clean.clone()
        self.distances = torch.full((len(clean),), torch.inf, device=clean.device)
        self.traces = torch.full((len(clean), len(strengths)), torch.inf, device=clean.device)

    @property
    def found(self) -> Tensor:
        """Whether an adversarial image is known, bool (n,)."""
        return self.distances.isfinite()

    def add(self, images: Tensor, rows: Tensor, strength: Tensor | int) -> None:
        """Add adversarial images, one at most of each row; `strength` is what was spent, (n,) or one for all."""
        if not len(rows):
            return
        images = self.seen(images)
        distances = distance(images, self._clean[rows], self._norm)
        nearer = distances < self.distances[rows]
        kept = rows[nearer]
        self.images[kept] = images if len(kept) == len(rows) else images[nearer]
        self.distances[kept] = distances[nearer]
        spent = torch.as_tensor(strength, device=rows.device).expand(len(rows))
        within = spent[:, None] <= self._strengths
        self.traces[rows] = torch.where(within, torch.minimum(self.traces[rows], distances[:, None]), self.traces[rows])


@dataclass(eq=False)
class AttackedBatch:
    """Images under attack, with all that the attack may use.

    A constrained attack keeps within `budgets`, and need not touch an image again once an adversarial of it is found.
    The norm is LINF or L2: callers convert the normalised one.
    """

    images: Tensor
    """Clean images, (n, channels, height, width), values in [0, 1]."""
    labels: Tensor
    """The right classes, int64 (n,)."""
    targets: Tensor | None
    """The target classes, or None for the untargeted goal."""
    numbers: Sequence[int]
    """The numbers of the images in the data set: what is drawn for an image depends on its number, not on its batch."""
    norm: Norm
    budgets: Tensor
    """How far each image may change, (n,); infinite for an optimised attack."""
    model: CountedModel
    findings: Findings
    seed: int = 0
    substitute: Classifier | None = None
    """The network that a transfer attack uses in place of the model."""
    starts: Tensor | None = None
    """Images of the target classes, or of other ones, from which decision-based attacks start, like `images`; NaN:
    none."""
    clean_from: tuple[AttackedBatch, Tensor] | None = None
    """A batch of the same images with other budgets, and where these images are in it: what `clean_gradient` answered
    there is used again."""

    def __post_init__(self) -> None:
        # the order of memory in which networks of this process compute: it is converted once, not at every pass
        self.images = self.images.contiguous(memory_format=torch.channels_last)
        # a budget that was rounded up to single precision is not exceeded either
        self._limits = self.budgets * (1.0 - 2.0**-21)
        self._clean: tuple[Tensor, Tensor] | None = None
        self._wrong = torch.full_like(self.budgets, torch.nan)
        self.margins = torch.full_like(self.budgets, -torch.inf if self.model.tells_margins else torch.nan)
        """The highest margin of all images that the model was asked about, (n,); NaN: it does not tell."""
        self._bounds: tuple[Tensor, Tensor] | None = None
        self._rows = torch.arange(len(self.images), device=self.images.device)

    @cached_property
    def _generators(self) -> list[torch.Generator]:
        return [torch.Generator().manual_seed(_seed(f"{self.seed} {number}")) for number in self.numbers]

    @property
    def goal(self) -> Goal:
        """The goal."""
        return Goal.UNTARGETED if self.targets is None else Goal.TARGETED

    @property
    def rows(self) -> Tensor:
        """All rows, int64 (n,)."""
        return self._rows

    def of(self, rows: Tensor, values: Tensor) -> Tensor:
        """Return the values of these rows, without a copy if they are `self.rows`."""
        return values if rows is self._rows else values[rows]

    def adversarial(self, labels: Tensor, rows: Tensor) -> Tensor:
        """Return whether these answers for these rows reach the goal, bool (n,)."""
        if self.targets is None:
            return labels != self.of(rows, self.labels)
        return reaches(labels, self.of(rows, self.targets))

    def loss(self, rows: Tensor) -> Loss:
        """Return the cross-entropy that rises towards the goal, for images of these rows."""
        aim = (self.labels if self.targets is None else self.targets)[rows]
        sign = 1.0 if self.targets is None else -1.0
        return lambda logits: sign * cross_entropy(logits, aim, reduction="none")

    def margin(self, rows: Tensor) -> Loss:
        """Return the margin of Carlini and Wagner, positive where the goal is reached, for images of these rows."""
        aim = (self.labels if self.targets is None else self.targets)[rows]
        sign = 1.0 if self.targets is None else -1.0

        def of(logits: Tensor) -> Tensor:
            own = logits.gather(1, aim[:, None])[:, 0]
            other = logits.scatter(1, aim[:, None], -torch.inf).amax(dim=1)
            return sign * (other - own)

        return of

    def normal(self, rows: Tensor, *shape: int) -> Tensor:
        """Draw standard normal numbers for each row, (n, *shape)."""
        drawn = torch.empty((len(rows), *shape))
        for numbers, row in zip(drawn, rows.tolist(), strict=True):
            numbers.normal_(generator=self._generators[row])
        return drawn.to(self.images.device)

    def uniform(self, rows: Tensor, *shape: int) -> Tensor:
        """Draw numbers uniformly from [0, 1) for each row, (n, *shape)."""
        drawn = [torch.rand(shape, generator=self._generators[row]) for row in rows.tolist()]
        return torch.stack(drawn).to(self.images.device)

    def gradient(self, images: Tensor, rows: Tensor, loss: Loss, *, asked: bool = True) -> tuple[Tensor, Tensor]:
        """Return whether the model says that images of these rows reach the goal, (n,), and gradients of the loss.

        A transfer attack gets gradients of the substitute, which cost nothing, and asks the model for labels: unless
        `asked` is False, when nothing is known to be reached.
        """
        if self.model.knowledge is not Knowledge.TRANSFER:
            logits, gradient = self.model.gradient(images, rows, loss)
            self._see(logits, rows)
            return self.adversarial(logits.argmax(dim=1), rows), gradient
        if self.substitute is None:
            raise Refusal("a transfer attack has no substitute model", fix="name a substitute")
        _, gradient = self.substitute.gradient(images, loss)
        return self.reached(images, rows) if asked else torch.zeros_like(rows, dtype=torch.bool), gradient

    def clean_gradient(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the same of the clean images for `loss`; it is computed once, unless the model is random."""
        if self.clean_from is not None and not self.model.random:
            batch, places = self.clean_from
            return batch.clean_gradient(places[rows])
        if self._clean is None:
            loss = self.loss(self.rows)

            def kept(logits: Tensor) -> Tensor:
                values = loss(logits)
                self._wrong = -torch.expm1(-values.detach().abs())
                return values

            self._clean = self.gradient(self.images, self.rows, kept)
        reached, gradient = self._clean
        return self.of(rows, reached), self.of(rows, gradient)

    def reached(self, images: Tensor, rows: Tensor) -> Tensor:
        """Return whether the model says that images of these rows reach the goal, (n,)."""
        if not self.model.tells_margins:
            return self.adversarial(self.model.labels(images, rows), rows)
        logits = self.model.logits(images, rows)
        self._see(logits, rows)
        return self.adversarial(logits.argmax(dim=1), rows)

    def _see(self, logits: Tensor, rows: Tensor) -> None:
        if self.model.tells_margins:
            self.margins = self.margins.scatter_reduce(0, rows, self.margin(rows)(logits), "amax")

    def linear_estimates(self) -> tuple[Tensor, Tensor]:
        """Return the margin of each clean image, and how far the boundary is if the model is linear; NaN: not known.

        The gradient of the cross-entropy is the mean of those of the margins to the other classes, weighed by their
        probabilities, times the sum of these.
        """
        if not self.model.tells_margins:
            return self.margins, self.margins
        _, gradient = self.clean_gradient(self.rows)
        return self.margins, -self.margins * self._wrong / dual_norms(gradient, self.norm)

    def project(self, images: Tensor, rows: Tensor) -> Tensor:
        """Return the images moved into the budgets of their rows and into [0, 1].

        Their distances, as `distance` computes them, are not above the budgets, however single precision rounds.
        """
        if self.norm is Norm.LINF:
            low, high = self._linf_bounds()
            return images.clamp(self.of(rows, low), self.of(rows, high))
        clean, limits = self.of(rows, self.images), expanded(self._limits[rows])
        change = images - clean
        length = lengths(change).clamp(min=torch.finfo(change.dtype).tiny)
        factor = (limits / length).clamp(max=1.0)
        moved = torch.addcmul(clean, change, factor).clamp_(0.0, 1.0)
        less = 2.0**-20
        while (over := lengths(moved - clean) > limits).any():
            moved = torch.where(over, (clean + change * (factor * (1.0 - less))).clamp(0.0, 1.0), moved)
            less = min(2.0 * less, 1.0)
        return moved

    def one_step(self, gradient: Tensor, rows: Tensor) -> Tensor:
        """Return the clean images of these rows moved by their whole budgets in the steepest direction, in [0, 1]."""
        clean, direction = self.of(rows, self.images), self.steepest(gradient)
        if self.norm is Norm.LINF and (self._limits > _TINY).all():  # the bounds are not worth their time for one step
            return direction.mul_(expanded(self._limits[rows] - _ROUNDED)).add_(clean).clamp_(0.0, 1.0)
        return self.project(direction.mul_(expanded(self.budgets[rows])).add_(clean), rows)

    def _linf_bounds(self) -> tuple[Tensor, Tensor]:
        """Return the least and the greatest values that each image may have."""
        if self._bounds is None:
            clean, limits = self.images, expanded(self._limits)
            if (self._limits > _TINY).all():
                # so that no rounding leads out of the budget
                limits = limits - _ROUNDED
                self._bounds = (clean - limits).clamp_(min=0.0), (clean + limits).clamp_(max=1.0)
            else:
                low, high = (clean - limits).clamp(min=0.0), (clean + limits).clamp(max=1.0)
                self._bounds = (
                    torch.where(clean - low > limits, torch.nextafter(low, clean), low),
                    torch.where(high - clean > limits, torch.nextafter(high, clean), high),
                )
        return self._bounds

    def steepest(self, gradient: Tensor) -> Tensor:
        """Return the direction of length 1 in the norm of the batch along which a loss rises most."""
        if self.norm is Norm.LINF:
            return gradient.sign()
        return gradient / lengths(gradient).clamp(min=torch.finfo(gradient.dtype).tiny)


@dataclass(frozen=True)
class Attack(ABC):
    """An attack with its parameters: a frozen dataclass, whose fields are written beside the results."""

    name: ClassVar[str]
    """Its name in commands and files."""
    title: ClassVar[str]
    source: ClassVar[str]
    """Paper, and where its parameters are from."""
    knowledge: ClassVar[Knowledge]
    capability: ClassVar[Capability]
    goals: ClassVar[frozenset[Goal]] = frozenset(Goal)
    norms: ClassVar[frozenset[Norm]] = frozenset({Norm.LINF, Norm.L2})
    one_step: ClassVar[bool] = False
    """Success is not monotone in the budget: all multiples of the first budget are tried."""
    fixed_budget_only: ClassVar[bool] = False
    """It is run at the fixed budget alone, without a search for the smallest: an ensemble that takes long."""

    strengths: ClassVar[tuple[int, ...]] = ()
    """At which it is recorded, ascending; none: those of its knowledge."""

    def fails_with_rounding(self, norm: Norm) -> str:
        """Return why the attack cannot be run against a model that rounds images to 8 bits; empty if it can."""
        if self.capability is Capability.CONSTRAINED and norm is not Norm.LINF:
            return f"keeps within budgets in {norm}, which rounding would exceed"
        return ""

    @abstractmethod
    def run(self, batch: AttackedBatch) -> None:
        """Attack the images; add every adversarial that the model confirmed to the findings."""


def reaches(labels: Tensor, targets: Tensor) -> Tensor:
    """Return whether labels are the targets, bool (n,). No valid label reaches every goal: silence must not pay."""
    return (labels == targets) | (labels == frames.UNCLASSIFIED)


def distance(first: Tensor, second: Tensor, norm: Norm) -> Tensor:
    """Return the distance of each pair of images, (n,)."""
    change = first - second
    if norm is Norm.LINF:
        return change.abs_().amax(dim=(1, 2, 3))
    flat = change.flatten(1)
    length: Tensor = torch.linalg.vector_norm(flat, dim=1)
    return length / flat.shape[1] ** 0.5 if norm is Norm.NORMALISED_L2 else length


def lengths(changes: Tensor) -> Tensor:
    """Return the L2 length of each change, (n, 1, 1, 1)."""
    found: Tensor = torch.linalg.vector_norm(changes, dim=(1, 2, 3), keepdim=True)
    return found


def dual_norms(gradients: Tensor, norm: Norm) -> Tensor:
    """Return the length of each gradient in the dual of a norm, (n,)."""
    flat = gradients.flatten(1)
    found: Tensor = flat.abs().sum(dim=1) if norm is Norm.LINF else torch.linalg.vector_norm(flat, dim=1)
    return found


def expanded(numbers: Tensor) -> Tensor:
    """Return numbers (n,) so that they multiply images (n, channels, height, width)."""
    return numbers[:, None, None, None]


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1
