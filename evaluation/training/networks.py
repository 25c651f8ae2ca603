"""Training a torch network: the recipes plain, adversarial and noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from evaluation.baselines.shared.network import SmallResNet, as_input, predict_labels
from evaluation.domain.errors import Refusal
from evaluation.domain.images import Images
from evaluation.training.augmentation import Augmentation
from evaluation.training.losses import LogitPairingLoss, PlainLoss
from evaluation.training.report import Progress
from evaluation.training.resnet import resnet18, resnet50
from evaluation.training.training_data import TrainingData

Loss: TypeAlias = Callable[[nn.Module, Tensor, Tensor, float], Tensor]

THREADS = 1
"""Torch threads of a run: sums depend on their number, and equal seeds must give equal weights. More help little."""

NOISE_LEVEL = 0.5
"""Standard deviation of the noise that the recipe `noise` adds to activations."""

WEIGHTS = "weights.safetensors"


@dataclass(frozen=True)
class NetworkRecipe:
    """Training parameters of a network: SGD with Nesterov momentum under a one-cycle learning rate."""

    loss: Loss
    epochs: int
    augmentation: Augmentation
    noise_level: float = 0.0
    batch: int = 64
    learning_rate: float = 0.15
    weight_decay: float = 5e-4


def small_recipe(name: str) -> NetworkRecipe:
    """Return the recipe of this name for the small network on digits: minutes on two cores."""
    if name == "plain":
        return NetworkRecipe(PlainLoss(), 80, Augmentation())
    if name == "noise":
        return NetworkRecipe(PlainLoss(), 80, Augmentation(), noise_level=NOISE_LEVEL)
    return NetworkRecipe(LogitPairingLoss(radius=7.0, steps=5), 80, Augmentation())


def large_recipe(name: str) -> NetworkRecipe:
    """Return the recipe of this name for ResNet-18 or -50 on photographs: hours on one GPU."""
    photographs = Augmentation(shift=0.06, turn=5.0, mirror=True)
    if name == "plain":
        return NetworkRecipe(PlainLoss(), 60, photographs, batch=256, learning_rate=0.2)
    if name == "adversarial":
        loss = LogitPairingLoss(radius=1.0, steps=5)
        return NetworkRecipe(loss, 60, photographs, batch=256, learning_rate=0.2)
    raise Refusal("the recipe noise is available only for --arch small", fix="remove --arch")


def build_network(arch: str, classes: int, noise_level: float) -> nn.Module:
    """Return an untrained network: `small`, `resnet18` or `resnet50`."""
    if arch == "small":
        return SmallResNet(classes, noise_level)
    return {"resnet18": resnet18, "resnet50": resnet50}[arch](classes)


def train_network(
    data: TrainingData, recipe: NetworkRecipe, *, arch: str, seed: int, device: str, epochs: int, progress: Progress
) -> nn.Module:
    """Train a network from scratch; equal seeds give equal weights on the same machine and device."""
    with _seeded(seed):
        network = build_network(arch, data.classes, recipe.noise_level).to(device).train()
        _fit(network, data, recipe, device=device, epochs=epochs, progress=progress)
        return network.to("cpu").eval()


def _fit(
    network: nn.Module, data: TrainingData, recipe: NetworkRecipe, *, device: str, epochs: int, progress: Progress
) -> None:
    batch = min(recipe.batch, len(data.images))
    steps = epochs * (len(data.images) // batch)
    optimiser = torch.optim.SGD(
        network.parameters(), lr=recipe.learning_rate, momentum=0.9, nesterov=True, weight_decay=recipe.weight_decay
    )
    done = 0
    for _ in range(epochs):
        order = torch.randperm(len(data.images)).numpy()
        for start in range(0, len(order) - batch + 1, batch):
            chosen = order[start : start + batch]
            images = recipe.augmentation(as_input(data.images[chosen]).to(device))
            labels = torch.from_numpy(data.labels[chosen]).to(device)
            for group in optimiser.param_groups:
                group["lr"] = recipe.learning_rate * one_cycle(done / steps)
            loss = recipe.loss(network, images, labels, done / steps)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # untyped in torch
            optimiser.step()
            done += 1
            progress(done, steps, f"loss {loss.item():.3f}")


def one_cycle(done: float) -> float:
    """Return the share of the highest learning rate at a share of the training: up in the first fifth, then to zero."""
    return (done + 0.01) / 0.21 if done < 0.2 else 0.5 * (1 + float(np.cos(np.pi * (done - 0.2) / 0.8)))


def accuracy(network: nn.Module, images: Images, labels: NDArray[np.int64]) -> float:
    """Return the share of the images (n, h, w, 3) that the network labels right."""
    right = [
        predict_labels(network, images[start : start + 256]) == labels[start : start + 256]
        for start in range(0, len(images), 256)
    ]
    return float(np.concatenate(right).mean())


def save_network(network: nn.Module, folder: Path) -> int:
    """Write the weights as float32 safetensors. Return the number of values."""
    state = {
        name: tensor.contiguous()
        for name, tensor in network.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }
    save_file(state, folder / WEIGHTS)
    return sum(tensor.numel() for tensor in state.values())


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Run torch with this seed and a fixed number of threads; restore both afterwards."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(THREADS)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
