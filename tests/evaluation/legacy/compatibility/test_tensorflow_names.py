"""Old names of modules, and the text mode of `tf.gfile.Open`."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
import pytest

from legacy_compatibility.aliases import Aliases
from legacy_compatibility.contrib_image import rotation_transforms
from legacy_compatibility.tensorflow_names import (
    deny_cuda_without_gpu,
    leave_out_autograph,
    let_programs_define,
    opens_bytes,
    read_known_flags,
    restore_scope_names,
)


class DefinedFlags:
    """What TensorFlow 2.15 has behind `tf.flags.FLAGS`: flags are defined at any time, and unknown ones are errors."""

    def __init__(self) -> None:
        self.defaults: dict[str, str] = {}
        self._given: dict[str, str] | None = None

    def is_parsed(self) -> bool:
        return self._given is not None

    def __call__(self, argv: list[str], known_only: bool = False) -> list[str]:
        given = dict(argument.removeprefix("--").split("=") for argument in argv[1:])
        unknown = [name for name in given if name not in self.defaults]
        if unknown and not known_only:
            raise ValueError(f"Unknown command line flag {unknown[0]!r}")
        self._given = given
        return [argv[0], *(f"--{name}={given[name]}" for name in unknown)]

    def __contains__(self, name: str) -> bool:
        return name in self.defaults

    def __getattr__(self, name: str) -> str:
        if name not in self.defaults or self._given is None:
            raise AttributeError(name)
        return self._given.get(name, self.defaults[name])

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("defaults", "_given"):
            super().__setattr__(name, value)
        elif self._given is not None and name in self.defaults:
            self._given[name] = value
        else:
            raise ValueError(f"Unknown command line flag {name!r}")


class Flags:
    """`tf.flags.FLAGS` of TensorFlow 2.15."""

    def __init__(self, flags: DefinedFlags) -> None:
        self.__dict__["__wrapped"] = flags

    def __getattr__(self, name: str) -> Any:
        flags = self.__dict__["__wrapped"]
        if not flags.is_parsed():
            flags(sys.argv)
        return flags.__getattr__(name)


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
def test_an_old_name_of_a_package_is_imported_with_its_submodules() -> None:
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


def test_a_flag_is_read_before_all_are_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["attack.py", "--max_epsilon=4", "--batch_size=10"])

    class Values(Flags):
        pass

    read_known_flags(Values)
    defined = DefinedFlags()
    flags = Values(defined)
    defined.defaults["max_epsilon"] = "16"
    assert flags.max_epsilon == "4"
    defined.defaults["batch_size"] = "1"
    assert defined(sys.argv, known_only=True) == ["attack.py"]  # as tf.app.run does
    assert flags.batch_size == "10"
    with pytest.raises(AttributeError, match="no_such_flag"):
        _ = flags.no_such_flag


def test_flags_are_parsed_without_app_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["attack.py", "--max_epsilon=4", "--other=1"])

    class Values(Flags):
        pass

    read_known_flags(Values)
    defined = DefinedFlags()
    defined.defaults["max_epsilon"] = "16"
    assert Values(defined)._parse_flags() == ["attack.py", "--other=1"]
    assert Values(defined)._parse_flags(["--max_epsilon=8"]) == ["attack.py"]
    assert Values(defined).max_epsilon == "8"


def test_a_program_sets_flags_that_nobody_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["defense.py", "--batch_size=4"])

    class Values(Flags):
        pass

    read_known_flags(Values)
    defined = DefinedFlags()
    defined.defaults["batch_size"] = "1"
    flags: Any = Values(defined)
    flags.image_height = 224
    assert (flags.image_height, flags.batch_size) == (224, "4")
    flags.batch_size = "8"
    assert flags.batch_size == "8"


def test_a_program_defines_flags_of_absl_again() -> None:
    flags = {"log_dir": SimpleNamespace(allow_override=False)}
    let_programs_define(flags)
    assert flags["log_dir"].allow_override


def test_autograph_is_left_out() -> None:
    context: Any = SimpleNamespace(ControlStatusCtx=SimpleNamespace, Status=SimpleNamespace(DISABLED="disabled"))
    leave_out_autograph(context)
    assert context._default_control_status_ctx().status == "disabled"


def test_a_rotation_turns_an_image_about_its_centre() -> None:
    (transform,) = rotation_transforms(np.array([np.pi / 2]), height=3, width=5, functions=np)
    a, b, c, d, e, f, *rest = transform
    assert rest == [0, 0]
    for (x, y), source in {(2, 1): (2, 1), (3, 1): (2, 2), (2, 0): (3, 1)}.items():
        assert (a * x + b * y + c, d * x + e * y + f) == pytest.approx(source)


def test_slims_layers_have_the_name_of_their_name_scope_too(monkeypatch: pytest.MonkeyPatch) -> None:
    scope = SimpleNamespace(name="net/logits", original_name_scope="while/net/logits/")
    monkeypatch.setitem(sys.modules, "tensorflow.compat.v1", SimpleNamespace(get_variable_scope=lambda: scope))
    names: list[str] = []
    utils = SimpleNamespace(
        append_tensor_alias=lambda outputs, alias: names.append(alias.rstrip("/")),
        collect_named_outputs=lambda collections, alias, outputs: names.append(alias),
    )
    restore_scope_names(utils)
    utils.collect_named_outputs("ends", "net/logits", "a tensor")
    assert names == ["while/net/logits", "net/logits"]
