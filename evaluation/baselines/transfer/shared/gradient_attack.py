"""Attacks by the gradient of surrogates, in the maximum norm.

One iteration for all of them: the fast gradient sign method is a single step (Goodfellow et al. 2015); the basic
iterative method takes small ones (Kurakin et al. 2017); momentum adds up normalised gradients (Dong et al. 2018);
inputs may be resized and padded at random (Xie et al. 2019), and gradients smoothed, as for shifted copies of
the image (Dong et al. 2019). Towards a target, steps may follow the size of a gradient instead of its sign (Kurakin et
al. 2018, equations 16 and 17). Several surrogates are one: their logits are averaged.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import torch
from classifiers import CHUNK, as_pixels, load
from image_files import read_images, read_targets, write_image
from torch.nn import functional


@dataclass(frozen=True)
class Method:
    """How to walk. `step` is the share of epsilon in each step; `kernel` the width of the smoothing, 1 for none.

    With `graded`, a value moves by no step, one or two, as far as its gradient is from the others; else always by one.
    """

    steps: int = 10
    step: float = 0.2
    momentum: float = 0.0
    diverse: float = 0.0
    kernel: int = 1
    graded: bool = False


def main(method, *, digits, lite, targeted=False):
    """Attack the images of the input folder; the arguments of the program are both folders and epsilon.

    `digits` and `lite` name the surrogates (see `classifiers.load`).
    """
    source, destination, epsilon = sys.argv[1:]
    names, images = read_images(source)
    targets = read_targets(source, names) if targeted else None
    surrogates = load(images.shape[1], digits=digits, lite=lite)
    for name, image in zip(names, attack(surrogates, images, int(epsilon), method, targets), strict=True):
        write_image(destination, name, image)


def attack(surrogates, images, epsilon, method, targets=None, seed=0):
    """Yield the adversarial of each image (n, h, w, 3), within `epsilon` levels.

    Without `targets` they leave the class that the surrogates see; the true one is unknown here.
    """
    random = torch.Generator().manual_seed(seed)
    for start in range(0, len(images), CHUNK):
        clean = as_pixels(images[start : start + CHUNK])
        goal = None if targets is None else torch.as_tensor(targets[start : start + CHUNK])
        for image in _walk(surrogates, clean, epsilon, method, goal, random):
            yield image.permute(1, 2, 0).numpy()


def _walk(surrogates, clean, epsilon, method, goal, random):
    with torch.no_grad():
        labels = _logits(surrogates, clean).argmax(1) if goal is None else goal
    sign = 1.0 if goal is None else -1.0
    low, high = (clean - epsilon).clamp(min=0), (clean + epsilon).clamp(max=255)
    moved, memory = clean.clone(), torch.zeros_like(clean)
    for _ in range(method.steps):
        moved.requires_grad_(True)
        seen = _resized(moved, random) if torch.rand((), generator=random) < method.diverse else moved
        loss = functional.cross_entropy(_logits(surrogates, seen), labels, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, moved)
        gradient = _smooth(gradient, method.kernel)
        size = gradient.std((1, 2, 3), keepdim=True) if method.graded else gradient.abs().mean((1, 2, 3), keepdim=True)
        memory = method.momentum * memory + gradient / size.clamp(min=1e-12)
        steps = memory.round().clamp(-2, 2) if method.graded else memory.sign()
        moved = (moved.detach() + sign * method.step * epsilon * steps).clamp(low, high)
    return moved.detach()


def _logits(surrogates, pixels):
    return sum(surrogate(pixels) for surrogate in surrogates) / len(surrogates)


def _resized(pixels, random):
    """Return the images at a random size up to a tenth smaller, padded at a random place."""
    side = pixels.shape[-1]
    smaller = int(torch.randint(side - side // 10, side, (), generator=random))
    left, top = torch.randint(0, side - smaller + 1, (2,), generator=random).tolist()
    small = functional.interpolate(pixels, (smaller, smaller), mode="nearest")
    return functional.pad(small, (left, side - smaller - left, top, side - smaller - top))


def _smooth(gradient, width):
    """Return the gradient, smoothed by a Gaussian kernel of `width` pixels (standard deviation: a sixth of it)."""
    if width == 1:
        return gradient
    line = torch.exp(-0.5 * ((torch.arange(width) - width // 2) / (width / 6)) ** 2)
    kernel = torch.outer(line, line)
    channels = gradient.shape[1]
    weights = (kernel / kernel.sum()).expand(channels, 1, width, width)
    return functional.conv2d(gradient, weights, padding=width // 2, groups=channels)
