"""The bundled submissions as importable modules."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
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
    "prior_opt",
    "scaled_lite_network",
    "smoothed_classifier",
    "surrogate_networks",
    "surrogates",
    "weighted_ensemble",
)

LoadMain: TypeAlias = Callable[[str], ModuleType]


def load(name: str) -> ModuleType:
    """Import a bundled submission's main.py as its own process would: with the modules next to it."""
    path = find_baseline(name).repository()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path)
        for own in OWN_MODULES:
            patch.delitem(sys.modules, own, raising=False)
        spec = importlib.util.spec_from_file_location("main", path / "main.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for own in OWN_MODULES:
            sys.modules.pop(own, None)
    return module


@pytest.fixture
def load_main() -> LoadMain:
    """Imports the program of a bundled submission, again at each call."""
    return load


@pytest.fixture(scope="session")
def loaded_main() -> LoadMain:
    """Imports each program once, for attacks: `test_keep_nothing` says that they keep nothing."""
    return cache(load)
