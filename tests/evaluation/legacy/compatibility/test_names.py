"""Names that Python, numpy and PyYAML had in 2018, and Python 2 before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from evaluation.legacy.player_modules import SOURCE
from legacy_compatibility import numpy_names, yaml_loader


@pytest.fixture
def own_numpy() -> ModuleType:
    """A module with the names of numpy, which a test may change."""
    module = ModuleType("numpy_of_the_test")
    vars(module).update(
        {name: getattr(np, name) for name in ("prod", "cumprod", "all", "any", "isin", "load", "zeros")}
    )
    vars(module).update(float32=np.float32, float64=np.float64, __version__=np.__version__)
    return module


def run(code: str) -> str:
    """Run code in a Python that starts as a player does, and return what it printed."""
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=True)
    return process.stdout.strip()


def test_collections_has_the_abstract_classes_of_its_submodule() -> None:
    assert run("import collections, collections.abc; print(collections.Iterable is collections.abc.Iterable)") == "True"


def test_getargspec_gives_four_values() -> None:
    code = "import inspect\ndef function(a, b=2, *c): pass\nprint(*inspect.getargspec(function))"
    assert run(code) == "['a', 'b'] c None (2,)"


def test_python_has_the_names_of_python_2() -> None:
    assert run("print(list(xrange(2)), unicode('x'), long(3), reduce(max, [1, 4]), isinstance('x', basestring))") == (
        "[0, 1] x 3 4 True"
    )
    assert run("import itertools, sys; print(*itertools.izip('ab', itertools.imap(abs, [-1, 2])), sys.maxint > 9)") == (
        "('a', 1) ('b', 2) True"
    )


def test_modules_have_their_names_in_python_2() -> None:
    code = "import Queue; queue = Queue.Queue(1)\ntry:\n    queue.get(block=False)\nexcept Queue.Empty:\n    print(0)"
    assert run(code) == "0"
    assert run("import urllib2, urlparse; print(urlparse.urlsplit('http://x/y').path, urllib2.quote('a b'))") == (
        "/y a%20b"
    )


def test_a_pickle_of_python_2_has_bytes() -> None:
    assert run("import cPickle; print(ascii(cPickle.loads(b'U\\x03a\\xe9b.')))") == "'a\\xe9b'"


def test_a_file_in_memory_takes_images_and_text() -> None:
    images = "from cStringIO import StringIO; file = StringIO(); file.write(b'\\x89PNG'); file.seek(1)"
    assert run(f"{images}; print(file.read(), file.getvalue())") == r"b'PNG' b'\x89PNG'"
    text = "import StringIO; file = StringIO.StringIO('a\\nb'); print(ascii(file.readline()), file.read())"
    assert run(text) == r"'a\n' b"
    assert run("import StringIO; file = StringIO.StringIO(); print('x', file=file); print(file.getvalue())") == "x"


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
