"""torchvision as in 2017, without torchvision: the tests do not have it."""

from __future__ import annotations

import uuid
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from legacy_compatibility import torchvision_names


class Resize:
    """The constructor of torchvision's class: one number, or (height, width)."""

    def __init__(self, size: Any, interpolation: Any = 2) -> None:
        self.size, self.interpolation = size, interpolation


def extension(*, loaded: bool) -> ModuleType:
    module = ModuleType("torchvision.extension")
    module._has_ops = lambda: loaded  # type: ignore[attr-defined]
    return module


def test_old_names_of_transforms_are_the_new_ones_with_sizes_turned_round() -> None:
    transforms = SimpleNamespace(Resize=Resize, RandomResizedCrop=object)
    torchvision_names.restore_transforms(transforms)
    assert isinstance(transforms.Scale(341), Resize)
    assert transforms.Scale(341).size == 341
    assert transforms.Scale([299, 331]).size == (331, 299)
    assert transforms.RandomSizedCrop is object


def test_operators_whose_library_did_not_load_are_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    space = f"torchvision_{uuid.uuid4().hex}"  # of this test alone: torch keeps operators for the life of the process
    library: Any = torch.library.Library
    monkeypatch.setattr(torch.library, "Library", lambda name, kind: library(space, kind))
    torchvision_names.define_operators(extension(loaded=False))
    names = [operator.partition("(")[0] for operator in torchvision_names.OPERATORS]
    assert len(names) == len(set(names)) == 12
    assert all(hasattr(getattr(torch.ops, space), name) for name in names)


def test_operators_that_are_there_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.library, "Library", None)
    torchvision_names.define_operators(extension(loaded=True))
