"""torch as in 2018."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from legacy_compatibility import torch_names


def test_it_works() -> None:
    view = torch_names.views_everything(torch.Tensor.view)
    permuted = torch.arange(6.0).view(2, 3).permute(1, 0)
    with pytest.raises(RuntimeError):
        permuted.view(6)
    assert view(permuted, 6).tolist() == [0, 3, 1, 4, 2, 5]
    assert view(permuted, -1, 2).shape == (3, 2)


def test_a_view_of_an_impossible_size_is_still_an_error() -> None:
    with pytest.raises(RuntimeError):
        torch_names.views_everything(torch.Tensor.view)(torch.zeros(6), 5)


def test_load_reads_whole_pickles(tmp_path: Path) -> None:
    torch.save({"path": tmp_path}, tmp_path / "state.pt")
    with pytest.raises(Exception, match="Weights only load failed"):
        torch.load(tmp_path / "state.pt")
    load: Any = torch_names.loads_as_then(torch.load, here="cpu")
    assert load(tmp_path / "state.pt") == {"path": tmp_path}


def test_zero_gradients_takes_one_tensor_or_several() -> None:
    tensors = [torch.ones(2, requires_grad=True) for _ in range(3)]
    sum(tensor.sum() for tensor in tensors).backward()  # type: ignore[union-attr]
    torch_names.zero_gradients(tensors[0])
    torch_names.zero_gradients(tensors[1:])
    assert all(tensor.grad is not None and tensor.grad.eq(0).all() for tensor in tensors)
