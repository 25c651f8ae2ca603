"""How torch 0.4 and older behaved, where programs depend on it."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any


def restore(torch: ModuleType) -> None:
    """Let `view` work on any tensor, `load` read whole pickles, and without a GPU `cuda` do nothing."""
    names: Any = torch
    names.Tensor.view = views_everything(names.Tensor.view)
    names.load = loads_as_then(names.load, here=None if names.cuda.is_available() else "cpu")
    if not names.cuda.is_available():
        names.Tensor.cuda = _itself
        names.nn.Module.cuda = _itself


def restore_zero_gradients(gradcheck: ModuleType) -> None:
    """Put back `torch.autograd.gradcheck.zero_gradients`."""
    if not hasattr(gradcheck, "zero_gradients"):
        gradcheck.zero_gradients = zero_gradients  # type: ignore[attr-defined]


def zero_gradients(tensors: Any) -> None:
    """Set the gradients of a tensor, or of several, to zero."""
    if hasattr(tensors, "grad"):
        if tensors.grad is not None:
            tensors.grad.detach_()
            tensors.grad.zero_()
    else:
        for tensor in tensors:
            zero_gradients(tensor)


def views_everything(view: Any) -> Any:
    """Return `view`, which copies a tensor whose strides do not fit.

    Since torch 1.5 results of elementwise functions keep the strides of permuted inputs; before, they were contiguous.
    """

    @functools.wraps(view)
    def view_or_copy(tensor: Any, *shape: Any) -> Any:
        try:
            return view(tensor, *shape)
        except RuntimeError:
            return view(tensor.contiguous(), *shape)

    return view_or_copy


def loads_as_then(load: Any, here: Any) -> Any:
    """Return `load` with its defaults of 2018: any pickle; `here` replaces the GPU that wrote the file."""

    @functools.wraps(load)
    def load_everything(f: Any, map_location: Any = None, *arguments: Any, **options: Any) -> Any:
        options.setdefault("weights_only", False)
        return load(f, here if map_location is None else map_location, *arguments, **options)

    return load_everything


def _itself(self: Any, *unused: Any, **ignored: Any) -> Any:
    return self
