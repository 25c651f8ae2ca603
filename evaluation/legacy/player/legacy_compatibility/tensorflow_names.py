"""TensorFlow 1's names, over the module `compat.v1` of TensorFlow 2.15."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


def restore(tensorflow: ModuleType) -> None:
    """Copy the names of `compat.v1` into `tensorflow`, without eager execution, with `contrib.slim` and `tf.gfile`."""
    v1 = importlib.import_module("tensorflow.compat.v1")
    v1.disable_v2_behavior()
    for name in dir(v1):
        if not name.startswith("_"):
            setattr(tensorflow, name, getattr(v1, name))
    # TensorFlow 2.15 looks for the layers of version 1 in a place where tf_keras has them no more
    sys.modules.setdefault(
        "tf_keras.legacy_tf_layers", _Alias("tf_keras.legacy_tf_layers", "tf_keras.src.legacy_tf_layers")
    )
    contrib = ModuleType("tensorflow.contrib")
    contrib.__path__ = []
    sys.modules["tensorflow.contrib"] = contrib
    tensorflow.contrib = contrib  # type: ignore[attr-defined]
    for name, source in (("slim", "tf_slim"), ("layers", "tf_slim.layers"), ("framework", "tf_slim.ops.arg_scope")):
        alias = _Alias("tensorflow.contrib." + name, source)
        sys.modules["tensorflow.contrib." + name] = alias
        setattr(contrib, name, alias)
    gfile: Any = tensorflow.gfile
    gfile.Open = opens_bytes(gfile.Open)


class _Alias(ModuleType):
    """A module under another name, imported when one of its names is used."""

    def __init__(self, name: str, source: str) -> None:
        super().__init__(name)
        self.__path__ = []
        self._source = source

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_source":
            raise AttributeError(name)
        return getattr(importlib.import_module(self._source), name)


def opens_bytes(open_file: Any) -> Any:
    """Return `tf.gfile.Open`, whose text mode gives the bytes of a file that is no text, as in Python 2."""

    class Reader(open_file):  # type: ignore[misc]  # the class is TensorFlow's
        def read(self, n: int = -1) -> Any:
            start = self.tell()
            try:
                return super().read(n)
            except UnicodeDecodeError:
                with open_file(self.name, "rb") as file:
                    file.seek(start)
                    return file.read(n)

    return Reader
