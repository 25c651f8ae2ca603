"""Old names of modules, and the text mode of `tf.gfile.Open`."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest

from legacy_compatibility.aliases import Aliases
from legacy_compatibility.tensorflow_names import deny_cuda_without_gpu, opens_bytes


@pytest.fixture
def old_names() -> Iterator[None]:
    """The modules of `json` and `xml` under names of the test."""
    aliases = Aliases({"json_as_before": "json", "xml_as_before": "xml.etree"})
    sys.meta_path.insert(0, aliases)
    yield
    sys.meta_path.remove(aliases)
    for name in [name for name in sys.modules if "_as_before" in name]:
        del sys.modules[name]


class OpenedFile:
    """An open file that decodes text like TensorFlow's: `name`, `mode`, a position in bytes."""

    def __init__(self, name: str, mode: str = "r") -> None:
        self.name, self._binary_mode = name, "b" in mode
        self._file: IO[bytes] = Path(name).open("rb")  # noqa: SIM115 - __exit__ closes it

    def __enter__(self) -> OpenedFile:
        return self

    def __exit__(self, *unused: object) -> None:
        self._file.close()

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, position: int) -> None:
        self._file.seek(position)

    def read(self, n: int = -1) -> Any:
        content = self._file.read(n)
        return content if self._binary_mode else content.decode()


@pytest.mark.usefixtures("old_names")
def test_it_works() -> None:
    assert importlib.import_module("json_as_before").dumps is json.dumps
    assert importlib.import_module("json_as_before.decoder").JSONDecoder is json.JSONDecoder
    assert importlib.import_module("xml_as_before.ElementTree").__name__ == "xml_as_before.ElementTree"


@pytest.mark.usefixtures("old_names")
def test_a_name_that_the_new_module_lacks_is_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        importlib.import_module("json_as_before.no_such_module")


@pytest.mark.parametrize(("devices", "answer"), [([], False), (["GPU:0"], True)])
def test_without_a_gpu_there_is_no_cuda(devices: list[str], answer: bool) -> None:
    config = SimpleNamespace(list_physical_devices=lambda kind: devices if kind == "GPU" else ["CPU:0"])
    tensorflow = SimpleNamespace(config=config, test=SimpleNamespace(is_built_with_cuda=lambda: True))
    deny_cuda_without_gpu(tensorflow)
    assert tensorflow.test.is_built_with_cuda() is answer


def test_text_is_text_and_anything_else_bytes(tmp_path: Path) -> None:
    reader = opens_bytes(OpenedFile)
    (tmp_path / "labels.txt").write_text("cat")
    with reader(str(tmp_path / "labels.txt")) as file:
        assert file.read() == "cat"
    (tmp_path / "image.png").write_bytes(b"\x89PNG and text")
    with reader(str(tmp_path / "image.png")) as file:
        assert file.read(4) == b"\x89PNG"
        assert file.read() == b" and text"
        file.seek(4)
        assert file.read(4) == b" and"
