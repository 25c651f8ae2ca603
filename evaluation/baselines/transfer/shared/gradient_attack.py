"""Attacks by the gradient of surrogates, in the maximum norm.

One iteration for all of them: the fast gradient sign method is a single step (Goodfellow et al. 2015); the basic
iterative method takes small ones (Kurakin et al. 2017); momentum adds up normalised gradients (Dong et al. 2018);
inputs may be resized and padded at random (Xie et al. 2019), and gradients smoothed, as for shifted copies of
the image (Dong et al. 2019). Towards a target, steps may follow the size of a gradient instead of its sign (Kurakin et
al. 2018, equations 16 and 17). Several surrogates are one: their logits (the same, equation 15), probabilities
(equation 20) or losses (equations 21 and 22) are averaged. Gradients may be those of images under random projective
transformations and noise (the same, section 5.4).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from classifiers import CHUNK, as_pixels, load
from image_files import read_images, read_targets, write_image
from torch.nn import functional

LOGITS, PROBABILITIES, LOSSES = "logits", "probabilities", "losses"


@dataclass(frozen=True)
class Method:
    """How to walk. Steps and noise are in units of epsilon."""

    steps: int = 10
    step: float = 0.2
    momentum: float = 0.0
    diverse: float = 0.0
    """The probability that the images of a step are resized and padded."""
    kernel: int = 1
    """The width of the smoothing of gradients in pixels; 1 for none."""
    graded: bool = False
    """A value moves by no step, one or two, as far as its gradient is from the others; else always by one."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """The weight of a surrogate by its name; the others have 1."""
    average: str = LOGITS
    """What of the surrogates is averaged."""
    enough: float = 0.0
    """With LOSSES, a surrogate whose loss for the target is at most this is left out of the step (equation 22)."""
    noise: float = 0.0
    """The standard deviation of what is added to the image before each step."""
    projective: float = 0.0
    """That of the parameters of a random projective transformation of the image (see `projected`)."""
    draws: int = 1
    """Transformations whose gradients are averaged in a step."""


def main(*phases, digits, lite, targeted=False):
    """Attack the images of the input folder; the arguments of the program are both folders and epsilon.

    The methods of `phases` follow each other. `digits` and `lite` name the surrogates (see `classifiers.load`).
    """
    source, destination, epsilon = sys.argv[1:]
    names, images = read_images(source)
    targets = read_targets(source, names) if targeted else None
    surrogates = load(images.shape[1], digits=digits, lite=lite)
    for name, image in zip(names, attack(surrogates, images, int(epsilon), phases, targets), strict=True):
        write_image(destination, name, image)


def attack(surrogates, images, epsilon, phases, targets=None, seed=0):
    """Yield the adversarial of each image (n, h, w, 3), within `epsilon` levels. `surrogates` are by name.

    Without `targets` they leave the class that the surrogates see; the true one is unknown here.
    """
    random = torch.Generator().manual_seed(seed)
    for start in range(0, len(images), CHUNK):
        moved = clean = as_pixels(images[start : start + CHUNK])
        if targets is None:
            with torch.no_grad():
                labels = averaged(answers(surrogates, clean), weights_of(surrogates, phases[0])).argmax(1)
        else:
            labels = torch.as_tensor(targets[start : start + CHUNK])
        ball = (clean - epsilon).clamp(min=0), (clean + epsilon).clamp(max=255)
        for method in phases:
            moved = _walk(surrogates, moved, ball, epsilon, method, labels, targets is not None, random)
        for image in moved:
            yield image.permute(1, 2, 0).numpy()


def _walk(surrogates, moved, ball, epsilon, method, labels, targeted, random):
    """Return the images (n, 3, h, w) after the steps of a method."""
    weights = weights_of(surrogates, method)
    memory = torch.zeros_like(moved)
    for _ in range(method.steps):
        if method.noise:
            noise = torch.randn(moved.shape, generator=random)
            moved = (moved + method.noise * epsilon * noise).clamp(*ball)
        moved = moved.detach().requires_grad_(True)
        losses = [
            loss(answers(surrogates, _seen(moved, method, random)), labels, method, weights, targeted)
            for _ in range(method.draws)
        ]
        (gradient,) = torch.autograd.grad(sum(losses) / method.draws, moved)
        gradient = _smooth(gradient, method.kernel)
        size = gradient.std((1, 2, 3), keepdim=True) if method.graded else gradient.abs().mean((1, 2, 3), keepdim=True)
        memory = method.momentum * memory + gradient / size.clamp(min=1e-12)
        steps = memory.round().clamp(-2, 2) if method.graded else memory.sign()
        towards = -1.0 if targeted else 1.0
        moved = (moved.detach() + towards * method.step * epsilon * steps).clamp(*ball)
    return moved


def weights_of(surrogates, method):
    """Return the weight of each surrogate, (k,); their sum is 1."""
    weights = torch.tensor([method.weights.get(name, 1.0) for name in surrogates])
    return weights / weights.sum()


def answers(surrogates, pixels):
    """Return the logits of each surrogate, (k, n, classes)."""
    return torch.stack([surrogate(pixels) for surrogate in surrogates.values()])


def averaged(logits, weights):
    """Return the average (n, classes) of the values (k, n, classes) of the surrogates."""
    return torch.einsum("k,knc->nc", weights, logits)


def loss(logits, labels, method, weights, targeted):
    """Return the loss of the surrogates for the labels, summed over the images (Kurakin et al. 2018, 5.2 and 5.5)."""
    if method.average == LOGITS:  # equation 15
        return functional.cross_entropy(averaged(logits, weights), labels, reduction="sum")
    if method.average == PROBABILITIES:  # equation 20
        return functional.nll_loss(averaged(logits.softmax(2), weights).log(), labels, reduction="sum")
    each = torch.stack([functional.cross_entropy(one, labels, reduction="none") for one in logits])
    if targeted and method.enough:
        each = each * (each > method.enough)  # equation 22
    return (weights @ each).sum()  # equation 21


def _seen(pixels, method, random):
    """Return the images as the surrogates see them in a step."""
    if torch.rand((), generator=random) < method.diverse:
        pixels = _resized(pixels, random)
    return projected(pixels, method.projective, random) if method.projective else pixels


def _resized(pixels, random):
    """Return the images at a random size up to a tenth smaller, padded at a random place."""
    side = pixels.shape[-1]
    smaller = int(torch.randint(side - side // 10, side, (), generator=random))
    left, top = torch.randint(0, side - smaller + 1, (2,), generator=random).tolist()
    small = functional.interpolate(pixels, (smaller, smaller), mode="nearest")
    return functional.pad(small, (left, side - smaller - left, top, side - smaller - top))


def projected(pixels, deviation, random):
    """Return each image under a projective transformation, black where it has no pixels.

    The eight parameters are those of the identity plus normal draws within two deviations, in coordinates from 0 to 1:
    (x, y) shows ((a x + b y + c) / z, (d x + e y + f) / z) with z = g x + h y + 1.
    """
    count, _, height, width = pixels.shape
    draws = torch.empty(count, 8)
    torch.nn.init.trunc_normal_(draws, std=deviation, a=-2 * deviation, b=2 * deviation, generator=random)
    matrices = torch.eye(3) + functional.pad(draws, (0, 1)).view(count, 3, 3)
    y, x = torch.meshgrid((torch.arange(height) + 0.5) / height, (torch.arange(width) + 0.5) / width, indexing="ij")
    places = torch.einsum("nij,hwj->nhwi", matrices, torch.stack([x, y, torch.ones_like(x)], 2))
    return functional.grid_sample(pixels, 2 * places[..., :2] / places[..., 2:] - 1, align_corners=False)


def _smooth(gradient, width):
    """Return the gradient, smoothed by a Gaussian kernel of `width` pixels (standard deviation: a sixth of it)."""
    if width == 1:
        return gradient
    line = torch.exp(-0.5 * ((torch.arange(width) - width // 2) / (width / 6)) ** 2)
    kernel = torch.outer(line, line)
    channels = gradient.shape[1]
    weights = (kernel / kernel.sum()).expand(channels, 1, width, width)
    return functional.conv2d(gradient, weights, padding=width // 2, groups=channels)
