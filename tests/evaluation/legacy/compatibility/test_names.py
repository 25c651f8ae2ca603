"""Names that Python, numpy and PyYAML had in 2018."""

from __future__ import annotations

import collections
import collections.abc
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from legacy_compatibility import collection_names, numpy_names, yaml_loader


@pytest.fixture
def own_numpy() -> ModuleType:
    """A module with the names of numpy, which a test may change."""
    module = ModuleType("numpy_of_the_test")
    vars(module).update(
        {name: getattr(np, name) for name in ("prod", "cumprod", "all", "any", "isin", "load", "zeros")}
    )
    vars(module).update(float32=np.float32, float64=np.float64, __version__=np.__version__)
    return module


@pytest.fixture
def without_new_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules that `collection_names` changes, as they were after the test."""
    with monkeypatch.context() as patch:
        for module, name in ((collections, "Iterable"), (collections, "Mapping"), (inspect, "getargspec")):
            patch.setattr(module, name, None, raising=False)
            patch.delattr(module, name)
        yield


@pytest.mark.usefixtures("without_new_names")
def test_it_works() -> None:
    collection_names.restore()
    assert vars(collections)["Iterable"] is collections.abc.Iterable
    assert vars(collections)["Mapping"] is collections.abc.Mapping


@pytest.mark.usefixtures("without_new_names")
def test_getargspec_gives_four_values() -> None:
    collection_names.restore()

    def function(a: int, b: int = 2, *c: int) -> None: ...

    assert vars(inspect)["getargspec"](function) == (["a", "b"], "c", None, (2,))


def test_numpy_has_its_old_names(own_numpy: ModuleType) -> None:
    numpy_names.restore(own_numpy)
    names = vars(own_numpy)
    assert (names["int"], names["float"], names["object"]) == (int, float, object)
    assert names["asscalar"](np.array([2.5], np.float32)) == 2.5
    assert names["product"]([2, 3]) == 6


def test_numpy_loads_pickled_arrays(own_numpy: ModuleType, tmp_path: Path) -> None:
    np.save(tmp_path / "labels.npy", np.array({"cat": 1}, dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        np.load(tmp_path / "labels.npy")
    numpy_names.restore(own_numpy)
    assert vars(own_numpy)["load"](tmp_path / "labels.npy").item() == {"cat": 1}


def test_the_promotion_of_numpy_2_is_said(own_numpy: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert numpy_names.promotes_like_version_2(np) == (int(np.__version__.split(".")[0]) >= 2)
    numpy_names.restore(own_numpy)
    assert "float32 * float64 is float64; 2018 had float32" in capsys.readouterr().err


def test_yaml_load_has_a_default_loader() -> None:
    def load(stream: str, Loader: type) -> tuple[str, type]:  # noqa: N803 - PyYAML's name
        return stream, Loader

    as_then = yaml_loader.with_loader(load, int)
    assert as_then("text") == ("text", int)
    assert as_then("text", Loader=str) == ("text", str)
