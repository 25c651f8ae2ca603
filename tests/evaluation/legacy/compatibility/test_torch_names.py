"""torch as in 2018."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from legacy_compatibility import torch_names


def test_a_view_takes_a_permuted_tensor() -> None:
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


def test_axes_are_permuted_in_place() -> None:
    tensor = torch.arange(24.0).reshape(2, 3, 2, 2)
    expected = tensor.clone().permute(0, 2, 3, 1)
    assert torch_names.permute_(tensor, 0, 2, 3, 1) is tensor
    assert torch.equal(tensor, expected)


def test_a_single_number_has_an_index() -> None:
    getitem = torch_names.indexes_numbers(torch.Tensor.__getitem__)
    loss = torch.tensor(2.5)
    with pytest.raises(IndexError):
        loss[0]
    assert getitem(loss, 0) == 2.5
    assert isinstance(getitem(loss, 0), float)
    assert getitem(torch.tensor(2.5, requires_grad=True), 0).requires_grad
    assert getitem(torch.tensor([1.0, 2.0]), 1) == 2
    with pytest.raises(IndexError):
        getitem(loss, 1)


def test_a_label_is_written_as_a_number() -> None:
    text = torch_names.prints_numbers(torch.Tensor.__str__)
    labels = torch.tensor([3, 7])
    assert str(labels[1]) == "tensor(7)"
    assert text(labels[1]) == "7"
    assert text(labels) == "tensor([3, 7])"


def test_the_iterator_of_a_loader_has_its_old_method() -> None:
    dataloader = ModuleType("dataloader")
    dataloader._BaseDataLoaderIter = type("Iterator", (), {"__next__": lambda self: 7})  # type: ignore[attr-defined]
    torch_names.restore_next(dataloader)
    assert dataloader._BaseDataLoaderIter().next() == 7
