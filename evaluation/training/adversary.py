"""White-box adversary of adversarial training: projected gradient descent in an L2 ball."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def l2_pgd(network: nn.Module, images: Tensor, labels: Tensor, *, radius: float, steps: int) -> Tensor:
    """Return images (n, c, h, w) in 0..1 that raise the loss, each within L2 distance `radius` of its original.

    Madry et al. 2018 with the L2 norm: a random start in the ball, then `steps` normalised gradient steps of
    2 * radius / steps, each followed by projection onto the ball and the pixel range. The network runs in
    evaluation mode, as in an attack; its mode is restored afterwards.
    """
    was_training = network.training
    network.eval()
    step = 2 * radius / steps
    noise = torch.randn(images.shape).to(images.device)
    change = noise / _norms(noise) * radius * torch.rand(len(images), 1, 1, 1).to(images.device)
    for _ in range(steps):
        change.requires_grad_(True)
        loss = functional.cross_entropy(network(images + change), labels, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, change)
        with torch.no_grad():
            change = change + step * gradient / _norms(gradient)
            change = change * (radius / _norms(change)).clamp(max=1)
            change = (images + change).clamp(0, 1) - images
    network.train(was_training)
    return (images + change).detach()


def _norms(tensors: Tensor) -> Tensor:
    """Return the L2 norm of each of (n, c, h, w), as (n, 1, 1, 1) and never zero."""
    norms: Tensor = tensors.flatten(1).norm(dim=1).clamp(min=1e-12).view(-1, 1, 1, 1)
    return norms
