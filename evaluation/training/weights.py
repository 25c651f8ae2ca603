"""Weights of networks as safetensors in half precision."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from evaluation.domain.errors import Refusal

WEIGHTS = "weights.safetensors"


def save_weights(network: nn.Module, folder: Path) -> int:
    """Write the weights in half precision. Return the number of values. Raise `Refusal` if one does not fit."""
    state = {
        name: tensor.detach().cpu().half().contiguous()
        for name, tensor in network.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }
    if too_large := [name for name, tensor in state.items() if not tensor.isfinite().all()]:
        raise Refusal(f"{too_large[0]} has values that half precision cannot hold", fix="use a smaller --learning-rate")
    unfinished = folder / f"{WEIGHTS}.unfinished"
    save_file(state, unfinished)
    unfinished.replace(folder / WEIGHTS)
    return sum(tensor.numel() for tensor in state.values())


def load_weights(network: nn.Module, path: Path) -> None:
    """Load weights that `save_weights` wrote into a network. Raise `Refusal` if they are not of such a network."""
    try:
        state = load_file(path)
        counts = {name: torch.tensor(0) for name in network.state_dict() if name.endswith("num_batches_tracked")}
        network.load_state_dict(counts | state)
    except (OSError, SafetensorError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise Refusal(f"{path} has no weights of this network: {reason}", fix="name weights of this --arch") from error
