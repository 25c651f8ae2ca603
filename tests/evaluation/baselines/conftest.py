"""The bundled submissions as importable modules."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TypeAlias

import pytest

from evaluation.formats.query.catalogue import find_baseline

OWN_MODULES = (
    "adaptive_ensemble",
    "biased_boundary",
    "boundary_filter",
    "hopskipjump",
    "label_steps",
    "lite_network",
    "network",
    "scaled_lite_network",
    "smoothed_classifier",
    "surrogate_networks",
    "surrogates",
    "weighted_ensemble",
)

LoadMain: TypeAlias = Callable[[str], ModuleType]


@pytest.fixture
def load_main(monkeypatch: pytest.MonkeyPatch) -> LoadMain:
    """Imports a bundled submission's main.py as its own process would: with the modules next to it."""

    def load(name: str) -> ModuleType:
        path = find_baseline(name).repository()
        monkeypatch.syspath_prepend(path)
        for own in OWN_MODULES:
            monkeypatch.delitem(sys.modules, own, raising=False)
        spec = importlib.util.spec_from_file_location("main", path / "main.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for own in OWN_MODULES:
            sys.modules.pop(own, None)
        return module

    return load
