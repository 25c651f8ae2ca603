"""Models from a Python file: trusted code, run in this process.

The file defines `load() -> torch.nn.Module`, a network that takes float32 images (n, channels, height, width) and
returns logits (n, classes), and may declare:

    INPUT_RANGE = (0.0, 1.0)    the values of black and white in its images
    CLASSES = 10                if the data set has another number of classes
    RANDOM = True               it answers one image in different ways
    PASSES = 10                 over how many passes the mean of its scores and gradients is taken
"""

from __future__ import annotations

import hashlib
import runpy
import traceback
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.models.classifier import NetworkClassifier


class _Scaled(nn.Module):
    """A network whose images have other values for black and white than 0 and 1."""

    def __init__(self, network: nn.Module, low: float, high: float) -> None:
        super().__init__()
        self.network, self.low, self.high = network, low, high

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.network(images * (self.high - self.low) + self.low)
        return logits


def read_model(path: Path, classes: int, device: torch.device) -> NetworkClassifier:
    """Return the network of a file for images of `classes` classes. Raise `Refusal` if the file is not as described."""
    if not path.is_file():
        raise Refusal(f"there is no file {path}", fix="name a Python file with a function load()")
    try:
        declared: dict[str, Any] = runpy.run_path(str(path))
    except Exception as error:
        raise Refusal(f"{path} fails: {_last_line(error)}", fix="run it with Python and correct the error") from error
    load = declared.get("load")
    if not callable(load):
        raise Refusal(f"{path} has no function load()", fix="define load() -> torch.nn.Module")
    try:
        network = load()
    except Exception as error:
        raise Refusal(f"load() of {path} fails: {_last_line(error)}", fix="correct the error") from error
    if not isinstance(network, nn.Module):
        raise Refusal(f"load() of {path} returned {type(network).__name__}", fix="return a torch.nn.Module")
    low, high = _range(path, declared.get("INPUT_RANGE", (0.0, 1.0)))
    scaled = network if (low, high) == (0.0, 1.0) else _Scaled(network, low, high)
    return NetworkClassifier(
        scaled.to(device),
        _whole(path, "CLASSES", declared.get("CLASSES", classes)),
        path.parent.name if path.stem in ("model", "main") else path.stem,
        random=bool(declared.get("RANDOM", False)),
        passes=_whole(path, "PASSES", declared.get("PASSES", 1)),
        digest=digest_of(scaled, path.read_bytes()),
    )


def digest_of(network: nn.Module, code: bytes) -> str:
    """Return the SHA-256 of a network: of its code, and of its weights by name."""
    digest = hashlib.sha256(code)
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
    return f"sha256:{digest.hexdigest()}"


def _range(path: Path, given: object) -> tuple[float, float]:
    values = given if isinstance(given, tuple | list) else ()
    if len(values) == 2 and all(isinstance(value, int | float) for value in values) and values[0] < values[1]:
        return float(values[0]), float(values[1])
    raise Refusal(f"INPUT_RANGE of {path} is {given!r}", fix="write two ascending numbers: INPUT_RANGE = (0.0, 1.0)")


def _whole(path: Path, name: str, given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise Refusal(f"{name} of {path} is {given!r}", fix=f"write a positive whole number: {name} = 10")
    return given


def _last_line(error: Exception) -> str:
    return traceback.format_exception_only(error)[-1].strip()
