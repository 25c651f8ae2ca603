"""Numbers of a training run: which precision, on which device."""

from __future__ import annotations

import torch

from evaluation.domain.errors import Refusal

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def open_device(name: str) -> torch.device:
    """Return the device called `name`. Raise `Refusal` if torch does not know it, or cannot use it here."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise Refusal(f"unknown device {name!r}", fix="use cpu, cuda or cuda:0") from error
    if device.type not in ("cpu", "cuda"):
        raise Refusal(f"training on {device.type} is not supported", fix="use cpu, cuda or cuda:0")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise Refusal(f"this host has no CUDA device {name!r} that torch can use", fix="use --device cpu")
    return device


def chosen_precision(name: str, device: torch.device) -> str:
    """Return the precision called `name`, or the usual one of the device for `auto`. Raise `Refusal` if it has no such.

    Mixed precision: convolutions and products in 16 bits, weights, normalisation and losses in 32. On processors it is
    faster only with instructions for it (AMX), so the usual one there is `float32`.
    """
    if name == "auto":
        if device.type == "cpu":
            return "float32"
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"
    if name not in PRECISIONS:
        raise Refusal(f"unknown precision {name!r}", fix=f"choose auto, {', '.join(PRECISIONS)}")
    if name == "float16" and device.type == "cpu":
        raise Refusal("float16 is for a GPU", fix="use --precision bfloat16 or float32 on a processor")
    return name


def memory_format(device: torch.device, precision: str) -> torch.memory_format:
    """Return how images and weights lie in memory: by pixel where that is faster."""
    by_pixel = device.type == "cuda" or precision != "float32"
    return torch.channels_last if by_pixel else torch.contiguous_format
