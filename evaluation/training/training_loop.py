"""Training loop of a network under a one-cycle learning rate, resumable at any step."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.domain.errors import Refusal
from evaluation.training.checkpoint import Checkpoints
from evaluation.training.precision import PRECISIONS, memory_format
from evaluation.training.recipes import TrainingRecipe
from evaluation.training.training_data import TrainingData
from evaluation.training.training_record import Progress

THREADS = 1
"""Torch threads of a run: sums depend on their number, and equal seeds must give equal weights."""

CHECKPOINT_SECONDS = 60.0
"""Time between two checkpoints."""

TOLD_EVERY = 10
"""Steps between two looks at the loss: each waits for the GPU."""


@dataclass(frozen=True)
class Fitted:
    """How a network was trained: seconds, over all runs that worked on it, and what the runs before the last had."""

    seconds: float
    moved: str


def fit(
    network: nn.Module,
    data: TrainingData,
    recipe: TrainingRecipe,
    *,
    seed: int,
    device: torch.device,
    precision: str,
    checkpoints: Checkpoints,
    progress: Progress,
) -> Fitted:
    """Train `network` on `device`, from the last checkpoint if there is one.

    Every draw depends on the seed and the number of its step alone, so a run that was killed continues to the same
    weights. Raise `Refusal` if a checkpoint is of another run, or the loss is no longer finite.
    """
    batch = min(recipe.batch, len(data.images))
    per_epoch = len(data.images) // batch
    steps = recipe.epochs * per_epoch
    layout = memory_format(device, precision)
    network.to(device, memory_format=layout).train()  # type: ignore[call-overload]  # torch's stubs lack both at once
    optimiser = _optimiser(network, recipe)
    scaler = torch.amp.GradScaler(device.type, enabled=precision == "float16")
    first, before, moved = _resume(checkpoints, network, optimiser, scaler)
    started = saved = time.monotonic()
    order = np.empty(0, np.int64)
    for step in range(first, steps):
        epoch, place = divmod(step, per_epoch)
        if place == 0 or step == first:
            order = np.random.default_rng((seed, epoch)).permutation(len(data.images))
        chosen = np.sort(order[place * batch : (place + 1) * batch])  # in the order of the file
        torch.manual_seed(_step_seed(seed, step))
        images = recipe.augmentation(torch.from_numpy(data.images[chosen]).to(device, non_blocking=True))
        half = step < recipe.half_size * steps
        if half:
            images = functional.avg_pool2d(images, 2)
        labels = torch.from_numpy(data.labels[chosen]).to(device)
        for group in optimiser.param_groups:
            group["lr"] = recipe.learning_rate * one_cycle(step / steps)
        cast = torch.autocast(device.type, PRECISIONS[precision], enabled=precision != "float32")
        with cast, _refused_if_alone(batch):
            loss = recipe.loss(
                network, images.contiguous(memory_format=layout), labels, step / steps, 0.5 if half else 1.0
            )
        optimiser.zero_grad()
        scaler.scale(loss).backward()  # type: ignore[no-untyped-call]  # untyped in torch
        scaler.step(optimiser)
        scaler.update()
        progress(step + 1, steps, f"epoch {epoch + 1}, loss {_finite(loss, step):.3f}" if not step % TOLD_EVERY else "")
        if time.monotonic() - saved > CHECKPOINT_SECONDS:
            spent = before + time.monotonic() - started
            checkpoints.save(_state(step + 1, spent, network, optimiser, scaler))
            saved = time.monotonic()
    seconds = before + time.monotonic() - started
    return Fitted(seconds, moved)


def one_cycle(done: float) -> float:
    """Return the share of the highest learning rate at a share of the training: up in the first fifth, then to zero."""
    return (done + 0.01) / 0.21 if done < 0.2 else 0.5 * (1 + math.cos(math.pi * (done - 0.2) / 0.8))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Run torch with this seed and a fixed number of threads; restore both afterwards."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(THREADS)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@contextmanager
def _refused_if_alone(batch: int) -> Iterator[None]:
    """Refuse a batch of one image whose last features are one pixel: torch cannot normalise a single value."""
    try:
        yield
    except ValueError as error:
        if batch > 1:
            raise
        raise Refusal(
            f"this network cannot be trained on one small image at a time: {error}",
            fix="use --batch 2 or more, and at least as many images",
        ) from error


def _optimiser(network: nn.Module, recipe: TrainingRecipe) -> torch.optim.Optimizer:
    """Return SGD with Nesterov momentum, or AdamW; only matrices and kernels decay, not biases and normalisations."""
    learned = list(network.parameters())
    groups = [
        {"params": [each for each in learned if each.dim() > 1], "weight_decay": recipe.weight_decay},
        {"params": [each for each in learned if each.dim() <= 1], "weight_decay": 0.0},
    ]
    if recipe.optimiser == "adamw":
        return torch.optim.AdamW(groups, lr=recipe.learning_rate)
    return torch.optim.SGD(groups, lr=recipe.learning_rate, momentum=recipe.momentum, nesterov=True)


def _resume(
    checkpoints: Checkpoints, network: nn.Module, optimiser: torch.optim.Optimizer, scaler: torch.amp.GradScaler
) -> tuple[int, float, str]:
    """Load the checkpoint, if there is one. Return its step, its seconds, and what is different on this host."""
    state = checkpoints.load()
    if state is None:
        return 0, 0.0, ""
    network.load_state_dict(state["network"])
    optimiser.load_state_dict(state["optimiser"])
    scaler.load_state_dict(state["scaler"])
    return state["step"], state["seconds"], state["moved"]


def _state(
    step: int, seconds: float, network: nn.Module, optimiser: torch.optim.Optimizer, scaler: torch.amp.GradScaler
) -> dict[str, Any]:
    return {
        "step": step,
        "seconds": seconds,
        "network": network.state_dict(),
        "optimiser": optimiser.state_dict(),
        "scaler": scaler.state_dict(),
    }


def _step_seed(seed: int, step: int) -> int:
    return int.from_bytes(hashlib.sha256(f"step {seed} {step}".encode()).digest()[:7])


def _finite(loss: Tensor, step: int) -> float:
    value = float(loss.detach())
    if not math.isfinite(value):
        raise Refusal(
            f"the loss is not finite at step {step + 1}", fix="use a smaller --learning-rate, or --precision float32"
        )
    return value
