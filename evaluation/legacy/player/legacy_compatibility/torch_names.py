"""How torch 0.4 and older behaved, where programs depend on it."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any


def restore(torch: ModuleType) -> None:
    """Let `view` work on any tensor, `load` read whole pickles, and without a GPU `cuda` do nothing.

    Put back `permute_`, and the index 0 and the text of a single number.
    """
    names: Any = torch
    names.Tensor.view = views_everything(names.Tensor.view)
    names.Tensor.__getitem__ = indexes_numbers(names.Tensor.__getitem__)
    names.Tensor.__str__ = prints_numbers(names.Tensor.__str__)
    if not hasattr(names.Tensor, "permute_"):
        names.Tensor.permute_ = permute_
    names.load = loads_as_then(names.load, here=None if names.cuda.is_available() else "cpu")
    if not names.cuda.is_available():
        names.Tensor.cuda = _itself
        names.nn.Module.cuda = _itself


def restore_zero_gradients(gradcheck: ModuleType) -> None:
    """Put back `torch.autograd.gradcheck.zero_gradients`."""
    if not hasattr(gradcheck, "zero_gradients"):
        gradcheck.zero_gradients = zero_gradients  # type: ignore[attr-defined]


def restore_next(dataloader: ModuleType) -> None:
    """Put back `iter(DataLoader(...)).next()`, its name in Python 2."""
    iterator = dataloader._BaseDataLoaderIter
    if not hasattr(iterator, "next"):
        iterator.next = iterator.__next__


def permute_(tensor: Any, *axes: int) -> Any:
    """Permute the axes of a tensor in place, and return it."""
    permuted = tensor.permute(*axes)
    return tensor.as_strided_(permuted.size(), permuted.stride(), permuted.storage_offset())


def indexes_numbers(getitem: Any) -> Any:
    """Return `getitem`, which takes the index 0 of a tensor without axes: until torch 0.3 a sum had one."""

    @functools.wraps(getitem)
    def getitem_or_number(tensor: Any, index: Any) -> Any:
        if isinstance(index, int) and index in (0, -1) and tensor.dim() == 0:
            return tensor if tensor.requires_grad else tensor.item()
        return getitem(tensor, index)

    return getitem_or_number


def prints_numbers(text: Any) -> Any:
    """Return `str` of a tensor, which is that of the number for a tensor without axes.

    Until torch 0.3 the elements of a tensor were numbers: programs write them as labels into their result file.
    """

    @functools.wraps(text)
    def text_or_number(tensor: Any) -> str:
        return str(tensor.detach().item()) if tensor.dim() == 0 else str(text(tensor))

    return text_or_number


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
