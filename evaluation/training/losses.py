"""Losses of a batch, for each recipe that trains a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.baselines.shared.smoothed_classifier import DEVIATION
from evaluation.baselines.shared.weighted_ensemble import WeightedEnsemble
from evaluation.formats.curves.defences.cifar_networks import Ensemble
from evaluation.training.adversary import Objective, ddn, l2_pgd, linf_pgd, transferred_until_wrong
from evaluation.training.convex_bounds import worst_margins
from evaluation.training.target_classifiers import Target, cifar_network_of


class Loss(Protocol):
    """The loss of a batch: images (n, c, h, w) in 0..1, labels (n,), and the completed share of the training.

    `size` is the images' share of the height that they have without the half size of cheap first steps.
    """

    def __call__(
        self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0
    ) -> Tensor: ...


@dataclass(frozen=True)
class Ball:
    """The adversary's ball (pixels in 0..1), and its gradient steps.

    The radius grows from zero over the first `warm_up` share of the training. In L2 it is that of whole images: a
    change of the same pixels has half the norm in an image of half the height.
    """

    radius: float
    steps: int
    warm_up: float = 0.3
    norm: Literal["l2", "linf"] = "l2"

    def at(self, done: float, size: float = 1.0) -> float:
        """Return the radius at a share of the training, for images of a share of the whole height."""
        whole = self.radius if self.norm == "linf" else self.radius * size
        return whole * (min(1.0, done / self.warm_up + 1e-3) if self.warm_up else 1.0)

    def attack(
        self, network: nn.Module, images: Tensor, objective: Objective, done: float, size: float = 1.0
    ) -> Tensor:
        """Return adversarials of the images (n, c, h, w) by projected gradient steps."""
        pgd = linf_pgd if self.norm == "linf" else l2_pgd
        return pgd(network, images, objective, radius=self.at(done, size), steps=self.steps)


@dataclass(frozen=True)
class PlainLoss:
    """Cross-entropy of the unchanged images; `smoothing` is the share of the label given to all classes alike."""

    smoothing: float = 0.0

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        return functional.cross_entropy(network(images).float(), labels, label_smoothing=self.smoothing)


@dataclass(frozen=True)
class NoisyImagesLoss:
    """Training for randomised smoothing (Cohen et al. 2019, section 3.3): cross-entropy of images with noise."""

    deviation: float = DEVIATION

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        noisy = images + self.deviation * torch.randn_like(images)
        return functional.cross_entropy(network(noisy).float(), labels)


@dataclass(frozen=True)
class PgdLoss:
    """Adversarial training (Madry et al. 2018, eq. 2.1): cross-entropy of adversarials by projected gradient steps."""

    ball: Ball
    smoothing: float = 0.0

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        adversarial = self.ball.attack(network, images, _against(labels), done, size)
        return functional.cross_entropy(network(adversarial).float(), labels, label_smoothing=self.smoothing)


@dataclass(frozen=True)
class LogitPairingLoss:
    """Adversarial logit pairing (Kannan, Kurakin and Goodfellow 2018, eq. 2).

    Cross-entropy over a mixed batch, half clean and half adversarial, plus `pairing` times the mean squared
    difference between the logits of each clean image and of its adversarial.
    """

    ball: Ball
    pairing: float = 0.5
    smoothing: float = 0.0

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        adversarial = self.ball.attack(network, images, _against(labels), done, size)
        logits = network(torch.cat([images, adversarial])).float()
        clean, perturbed = logits.chunk(2)
        mixed = functional.cross_entropy(logits, torch.cat([labels, labels]), label_smoothing=self.smoothing)
        loss: Tensor = mixed + self.pairing * (clean - perturbed).square().mean()
        return loss


@dataclass(frozen=True)
class TradesLoss:
    """TRADES (Zhang et al. 2019, eq. 5): cross-entropy of the images, and `weight` times the divergence of answers.

    The divergence is that of Kullback and Leibler, of the answers to the adversarials from those to the images; the
    adversary increases it.
    """

    ball: Ball
    weight: float = 6.0
    smoothing: float = 0.0

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        answers = _answers(network, images)
        adversarial = self.ball.attack(network, images, lambda logits: _divergence(logits, answers), done, size)
        clean, perturbed = network(torch.cat([images, adversarial])).float().chunk(2)
        natural = functional.cross_entropy(clean, labels, label_smoothing=self.smoothing)
        return natural + self.weight * _divergence(perturbed, clean.softmax(1)) / len(images)


@dataclass(frozen=True)
class MembersLoss:
    """The sum of a loss over the members of a `WeightedEnsemble`: each learns as alone, from the same batches."""

    each: Loss

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        members = cast(WeightedEnsemble, network).members
        return torch.stack([self.each(member, images, labels, done, size) for member in members]).sum()


@dataclass(frozen=True)
class MutualLoss:
    """Mutual adversarial training of a `WeightedEnsemble` (Brendel et al. 2020, section 7.2).

    The sum over the members of: the cross-entropy over a mixed batch, half adversarials by its own gradients and half
    black-box ones by those of another member, drawn for each batch, each stopped where the member errs; and `weight`
    times the divergence of Kullback and Leibler of its answers to its own adversarials from the mean answers of the
    others to the images. Black-box adversarials have at most `black_box_steps` steps, which together are the radius.
    """

    ball: Ball
    weight: float = 1.0
    black_box_steps: int = 10

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        members = list(cast(WeightedEnsemble, network).members)
        answers = torch.stack([_answers(member, images) for member in members])
        step = self.ball.at(done, size) / self.black_box_steps
        losses = []
        for index, member in enumerate(members):
            others = [other for other in range(len(members)) if other != index]
            source = members[others[int(torch.randint(len(others), ()))]]
            own = self.ball.attack(member, images, _against(labels), done, size)
            black_box = transferred_until_wrong(source, member, images, labels, size=step, steps=self.black_box_steps)
            logits = member(torch.cat([own, black_box])).float()
            divergence = _divergence(logits[: len(images)], answers[others].mean(0)) / len(images)
            losses.append(functional.cross_entropy(logits, torch.cat([labels, labels])) + self.weight * divergence)
        return torch.stack(losses).sum()


@dataclass(frozen=True)
class DdnLoss:
    """Training on the nearest adversarials (Rony et al. 2019, section 3.4), cut to the ball: cross-entropy of them."""

    ball: Ball
    smoothing: float = 0.0

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        radius = self.ball.at(done, size)
        nearest, _ = ddn(network, images, labels, steps=self.ball.steps, first_norm=radius)
        change = nearest - images
        norms = change.flatten(1).norm(dim=1).clamp(min=1e-12).view(-1, 1, 1, 1)
        adversarial = images + change * (radius / norms).clamp(max=1)
        return functional.cross_entropy(network(adversarial).float(), labels, label_smoothing=self.smoothing)


@dataclass(frozen=True)
class ConvexLoss:
    """Training on certified bounds (Wong and Kolter 2018, eq. 14): cross-entropy of the worst margins of the ball."""

    ball: Ball

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        with torch.autocast(images.device.type, enabled=False):  # rounded to 16 bits they would be no bounds
            margins = worst_margins(cast(nn.Sequential, network), images, labels, self.ball.at(done, size))
        return functional.cross_entropy(-margins, labels)


@dataclass(frozen=True)
class EnsembleLoss:
    """Ensemble adversarial training (Tramer et al. 2018, section 4.1): adversarials of other networks, too.

    Cross-entropy over a mixed batch, half clean and half adversarial. Each batch draws the network whose gradients make
    its adversarials: one of the sources, which do not learn, or the network itself.
    """

    ball: Ball
    sources: tuple[Target, ...]

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        drawn = int(torch.randint(len(self.sources) + 1, ()))
        source = cifar_network_of(self.sources[drawn], images.device) if drawn < len(self.sources) else network
        adversarial = self.ball.attack(source, images, _against(labels), done, size)
        logits = network(torch.cat([images, adversarial])).float()
        return functional.cross_entropy(logits, torch.cat([labels, labels]))


@dataclass(frozen=True)
class DiversityLoss:
    """Adaptive diversity promoting training of an `Ensemble` (Pang et al. 2019, eq. 7).

    The sum of the members' cross-entropies, less `entropy` times the entropy of their mean answer, less `diversity`
    times the logarithm of the squared volume that their normalised answers span without the label's.
    """

    entropy: float = 2.0
    diversity: float = 0.5

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        logits = cast(Ensemble, network).answers(images).float()
        count, _, classes = logits.shape
        each = functional.cross_entropy(logits.flatten(0, 1), labels.repeat(count)) * count
        mean = logits.softmax(-1).mean(0)
        entropy = -(mean * mean.clamp(min=1e-20).log()).sum(1).mean()
        wrong = functional.one_hot(labels, classes).logical_not()
        others = logits.softmax(-1)[:, wrong].view(count, len(labels), classes - 1).transpose(0, 1)
        directions = others / others.norm(dim=2, keepdim=True).clamp(min=1e-12)
        ridge = 1e-6 * torch.eye(count, device=images.device)
        with torch.autocast(images.device.type, enabled=False):  # 16 bits would make alike answers singular
            products = directions @ directions.transpose(1, 2) + ridge
            volume = torch.linalg.slogdet(products).logabsdet.mean()
        loss: Tensor = each - self.entropy * entropy - self.diversity * volume
        return loss


@dataclass(frozen=True)
class DeepDefenseLoss:
    """DeepDefense (Yan, Guo and Zhang 2018, eq. 4 and 5): cross-entropy, and a penalty of small perturbations.

    `ratio` is the L2 norm of the change that takes an image to the boundary, over the norm of the image. An image that
    is labelled right adds weight * exp(-right * ratio), another one weight * exp(wrong * ratio); weights learn from the
    steps of the change as well. The steps are those of DeepFool, for the boundary between the label and the strongest
    other class alone. Statistics of batches stay as they are. Factors: authors' code.
    """

    weight: float = 15.0
    right: float = 25.0
    wrong: float = 5.0
    steps: int = 2

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        was_training = network.training
        network.eval()  # one network for both parts: batches would have statistics of their own
        logits, ratios = network(images).float(), self._ratios(network, images, labels)
        network.train(was_training)
        exponents = torch.where(logits.argmax(1) == labels, -self.right, self.wrong) * ratios
        return functional.cross_entropy(logits, labels) + self.weight * exponents.exp().mean()

    def _ratios(self, network: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        """Return the ratio of each image, (n,), at most 1: where the network is flat, the boundary is far away."""
        change = torch.zeros_like(images).requires_grad_()
        for _ in range(self.steps):
            logits = network(images + change).float()
            own = labels[:, None]
            lead = logits.scatter(1, own, -torch.inf).amax(1) - logits.gather(1, own)[:, 0]
            (slope,) = torch.autograd.grad(lead.sum(), change, create_graph=True)
            change = change - slope * (lead / slope.square().sum((1, 2, 3)).clamp(min=1e-12)).view(-1, 1, 1, 1)
        ratios: Tensor = change.flatten(1).norm(dim=1) / images.flatten(1).norm(dim=1).clamp(min=1e-12)
        return ratios.clamp(max=1.0)


def _against(labels: Tensor) -> Objective:
    return lambda logits: functional.cross_entropy(logits, labels, reduction="sum")


def _answers(network: nn.Module, images: Tensor) -> Tensor:
    """Return the shares (n, classes) that the network gives to each class in evaluation mode, without gradients."""
    was_training = network.training
    with torch.no_grad():
        answers: Tensor = network.eval()(images).float().softmax(1)
    network.train(was_training)
    return answers


def _divergence(logits: Tensor, answers: Tensor) -> Tensor:
    return functional.kl_div(logits.log_softmax(1), answers, reduction="sum")
