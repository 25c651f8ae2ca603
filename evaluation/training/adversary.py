"""White-box adversaries, for training and for measuring robustness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

Objective: TypeAlias = Callable[[Tensor], Tensor]
"""What an adversary increases: a function of the logits (n, classes), summed over the images."""


def l2_pgd(network: nn.Module, images: Tensor, objective: Objective, *, radius: float, steps: int) -> Tensor:
    """Return images (n, c, h, w) in 0..1 with a larger objective, each within L2 distance `radius` of its original.

    Madry et al. 2018 with the L2 norm: a random start in the ball, then `steps` normalised gradient steps of
    2 * radius / steps, each followed by projection onto the ball and the pixel range. The network runs in
    evaluation mode, as in an attack; its mode is restored afterwards.
    """
    step = 2 * radius / steps
    noise = torch.randn_like(images)
    change = noise / _norms(noise) * radius * torch.rand(len(images), 1, 1, 1, device=images.device)
    change = (images + change).clamp(0, 1) - images
    with _as_attacked(network):
        for _ in range(steps):
            gradient = _gradient(network, images + change, objective)
            change = change + step * gradient / _norms(gradient)
            change = change * (radius / _norms(change)).clamp(max=1)
            change = (images + change).clamp(0, 1) - images
    return images + change


def linf_pgd(network: nn.Module, images: Tensor, objective: Objective, *, radius: float, steps: int) -> Tensor:
    """Return images (n, c, h, w) in 0..1 with a larger objective, each value within `radius` of its original.

    Madry et al. 2018: a uniform random start in the box, then `steps` steps of 2 * radius / steps along the sign of the
    gradient, each followed by projection. The network runs in evaluation mode; its mode is restored afterwards.
    """
    low, high = (images - radius).clamp(min=0), (images + radius).clamp(max=1)
    moved = low + torch.rand_like(images) * (high - low)
    with _as_attacked(network):
        for _ in range(steps):
            moved = moved + 2 * radius / steps * _gradient(network, moved, objective).sign()
            moved = moved.clamp(low, high)
    return moved


def ddn(
    network: nn.Module, images: Tensor, labels: Tensor, *, steps: int, first_norm: float = 1.0, gamma: float = 0.05
) -> tuple[Tensor, Tensor]:
    """Return for each image (n, c, h, w) in 0..1 the nearest adversarial found, and whether one was found (n,).

    Decoupled direction and norm (Rony et al. 2019, algorithm 1), untargeted: the norm of the change shrinks by `gamma`
    where the image is adversarial and grows by `gamma` where it is not; steps along the normalised gradient fall from
    1 to 0.01 by a cosine. Where none was found, the last image tried is returned. The network runs in evaluation mode.
    """
    norms = torch.full((len(images), 1, 1, 1), first_norm, device=images.device)
    direction, tried = torch.zeros_like(images), images
    nearest, distance = images.clone(), torch.full_like(norms, math.inf)
    with _as_attacked(network):
        for step in range(steps + 1):
            logits, gradient = _logits_and_gradient(
                network, tried, lambda logits: functional.cross_entropy(logits, labels, reduction="sum")
            )
            adversarial = (logits.argmax(1) != labels).view(-1, 1, 1, 1)
            nearer = adversarial & (_norms(tried - images) < distance)
            nearest = torch.where(nearer, tried, nearest)
            distance = torch.where(nearer, _norms(tried - images), distance)
            if step == steps:
                break
            size = 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / steps))
            direction = direction + size * gradient / _norms(gradient)
            norms = norms * torch.where(adversarial, 1 - gamma, 1 + gamma)
            tried = (images + norms * direction / _norms(direction)).clamp(0, 1)
            direction = tried - images
    found = distance.flatten().isfinite()
    return torch.where(found.view(-1, 1, 1, 1), nearest, tried), found


def linf_steps(
    networks: Sequence[nn.Module], images: Tensor, labels: Tensor, *, epsilon: Tensor | float, steps: int
) -> Tensor:
    """Return images (n, c, h, w) in 0..1 after `steps` steps of epsilon / steps along the sign of the gradient.

    One step is the fast gradient sign method (Goodfellow et al. 2015), more are the basic iterative method (Kurakin et
    al. 2017). The networks are in evaluation mode; the objective is the cross-entropy of the sum of their logits.
    """
    moved = images
    for _ in range(steps):
        gradient = _gradient(
            lambda tried: torch.stack([network(tried) for network in networks]).sum(0),
            moved,
            lambda logits: functional.cross_entropy(logits, labels, reduction="sum"),
        )
        moved = (moved + epsilon / steps * gradient.sign()).clamp(0, 1)
    return moved.detach()


def transferred_until_wrong(
    source: nn.Module, attacked: nn.Module, images: Tensor, labels: Tensor, *, size: float, steps: int
) -> Tensor:
    """Return images (n, c, h, w) in 0..1 moved along the gradients of `source` until `attacked` labels them wrong.

    At most `steps` steps of L2 length `size`; an image stops at the first one at which `attacked` errs (Brendel et al.
    2020, section 7.2), so that its change is no larger than needed. Both networks run in evaluation mode.
    """
    moved = images
    with _as_attacked(source), _as_attacked(attacked):
        for _ in range(steps):
            with torch.no_grad():
                right = (attacked(moved).argmax(1) == labels).view(-1, 1, 1, 1)
            if not right.any():
                break
            gradient = _gradient(
                source, moved, lambda logits: functional.cross_entropy(logits, labels, reduction="sum")
            )
            moved = torch.where(right, (moved + size * gradient / _norms(gradient)).clamp(0, 1), moved)
    return moved


@contextmanager
def _as_attacked(network: nn.Module) -> Iterator[None]:
    """Put the network into evaluation mode, without gradients of its weights; restore both afterwards."""
    was_training = network.training
    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
    network.eval()
    for parameter in learned:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        network.train(was_training)
        for parameter in learned:
            parameter.requires_grad_(True)


def _gradient(network: Callable[[Tensor], Tensor], images: Tensor, objective: Objective) -> Tensor:
    return _logits_and_gradient(network, images, objective)[1]


def _logits_and_gradient(
    network: Callable[[Tensor], Tensor], images: Tensor, objective: Objective
) -> tuple[Tensor, Tensor]:
    images = images.detach().requires_grad_(True)
    with torch.enable_grad():
        logits = network(images).float()
        (gradient,) = torch.autograd.grad(objective(logits), images)
    return logits.detach(), gradient


def _norms(tensors: Tensor) -> Tensor:
    """Return the L2 norm of each of (n, c, h, w), as (n, 1, 1, 1) and never zero."""
    norms: Tensor = tensors.flatten(1).norm(dim=1).clamp(min=1e-12).view(-1, 1, 1, 1)
    return norms
