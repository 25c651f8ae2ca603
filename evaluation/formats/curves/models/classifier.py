"""Models that a benchmark attacks, and what each of them offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor, nn

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.threat_models import Knowledge

Loss: TypeAlias = Callable[[Tensor], Tensor]
"""A function of logits (n, classes) that returns one number per row, (n,)."""


class Classifier(ABC):
    """A model of images float32 (n, channels, height, width) with values in [0, 1]."""

    name: str
    digest: str
    """A hash of what it computes: of code and weights, or of the built submission."""
    classes: int
    random: bool = False
    """It may answer one image in different ways, as it declares."""
    rounds: bool = False
    """It sees images of 8 bits: all values are multiples of 1/255."""
    passes: int = 1
    """Over how many passes the mean of scores and gradients is taken."""
    device: torch.device = torch.device("cpu")

    def seen(self, images: Tensor) -> Tensor:
        """Return images as the model sees them: a distance is that of the image that it answered."""
        return images

    @property
    @abstractmethod
    def offers(self) -> frozenset[Knowledge]:
        """What may be seen of it: DECISION is `labels`, SCORE `logits`, WHITE_BOX `gradient`."""

    @abstractmethod
    def labels(self, images: Tensor) -> Tensor:
        """Return the class of each image, int64 (n,)."""

    @abstractmethod
    def logits(self, images: Tensor) -> Tensor:
        """Return logits, or logarithms of probabilities, float32 (n, classes)."""

    @abstractmethod
    def gradient(self, images: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        """Return the logits of the images, and the gradient of the loss of each by its values."""


class NetworkClassifier(Classifier):
    """A network in this process: it is trusted, and offers everything.

    `passes` is over how many forward and backward passes the mean is taken, for a random network (expectation over
    transformations). A defence that is not differentiable gives its network an approximate gradient (BPDA) itself.
    """

    def __init__(
        self,
        network: nn.Module,
        classes: int,
        name: str = "network",
        *,
        random: bool = False,
        passes: int = 1,
        digest: str = "",
    ) -> None:
        # channels last: convolutions of small images take little more than half of the time on a CPU
        self.network: nn.Module = (
            network.eval()
            .requires_grad_(False)
            .to(  # type: ignore[call-overload]
                memory_format=torch.channels_last
            )
        )
        self.classes, self.name, self.random, self.passes, self.digest = classes, name, random, passes, digest
        self.device = next((each.device for each in network.parameters()), torch.device("cpu"))

    @property
    def offers(self) -> frozenset[Knowledge]:
        return frozenset({Knowledge.DECISION, Knowledge.SCORE, Knowledge.WHITE_BOX})

    def labels(self, images: Tensor) -> Tensor:
        return self.logits(images).argmax(dim=1)

    @torch.no_grad()
    def logits(self, images: Tensor) -> Tensor:
        return checked(self.network(images), len(images), self)

    def gradient(self, images: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        logits, gradient = self._one_pass(images, loss)
        for _ in range(self.passes - 1):
            more_logits, more_gradient = self._one_pass(images, loss)
            logits, gradient = logits + more_logits, gradient + more_gradient
        return logits / self.passes, gradient / self.passes

    def _one_pass(self, images: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        variable = images.detach().requires_grad_()
        with torch.enable_grad():
            logits = checked(self.network(variable), len(images), self)
            if not logits.requires_grad:  # a step that has no derivative, or leaves the graph
                raise _not_differentiable(self)
            (gradient,) = torch.autograd.grad(loss(logits).sum(), variable, allow_unused=True)
        if gradient is None:
            raise _not_differentiable(self)
        if gradient.sum().isnan() and gradient.isnan().any():  # the sum is much faster, and seldom NaN alone
            raise Refusal(
                f"{self.name} has a gradient that is no number",
                fix="give the step whose derivative is undefined an approximate one (BPDA)",
            )
        return logits.detach(), gradient


def _not_differentiable(model: Classifier) -> Refusal:
    return Refusal(
        f"{model.name} is not differentiable: its scores do not depend on the images by steps that have a derivative",
        fix="give such a step an approximate derivative (BPDA, Athalye et al. 2018): a torch.autograd.Function whose "
        "backward is that of a similar function; or choose attacks with less knowledge",
    )


def checked(logits: object, rows: int, model: Classifier) -> Tensor:
    """Return the logits. Raise `Refusal` if they are not (rows, classes) finite floating-point numbers."""
    expected = (rows, model.classes)
    if not isinstance(logits, Tensor) or tuple(logits.shape) != expected or not logits.is_floating_point():
        found = f"{logits.dtype} {tuple(logits.shape)}" if isinstance(logits, Tensor) else type(logits).__name__
        raise Refusal(
            f"{model.name} answered {found}, not floating-point scores of shape {expected}",
            fix="return one score for each image and class",
        )
    if not logits.isfinite().all():
        raise Refusal(f"{model.name} answered scores that are not finite", fix="return finite scores for every image")
    return logits
