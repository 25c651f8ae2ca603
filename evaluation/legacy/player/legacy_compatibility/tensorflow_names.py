"""TensorFlow 1's names, over the module `compat.v1` of TensorFlow 2.15."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, List

from legacy_compatibility.aliases import Aliases

# the first that fits counts
_NEW_NAMES = {
    "tensorflow.contrib.slim": "tf_slim",
    "tensorflow.contrib.layers.python.layers": "tf_slim.layers",
    "tensorflow.contrib.layers.python": "tf_slim",
    "tensorflow.contrib.layers": "tf_slim.layers",
    "tensorflow.contrib.framework": "tf_slim",
    # TensorFlow 2.15 looks for the layers of version 1 in a place where tf_keras has them no more
    "tf_keras.legacy_tf_layers": "tf_keras.src.legacy_tf_layers",
}


def restore(tensorflow: ModuleType) -> None:
    """Copy the names of `compat.v1` into `tensorflow`, without eager execution, with `contrib.slim` and `tf.gfile`."""
    v1 = importlib.import_module("tensorflow.compat.v1")
    v1.disable_v2_behavior()
    for name in dir(v1):
        if not name.startswith("_"):
            setattr(tensorflow, name, getattr(v1, name))
    sys.meta_path.insert(0, Aliases(_NEW_NAMES))
    contrib = _Contrib("tensorflow.contrib")
    sys.modules["tensorflow.contrib"] = contrib
    tensorflow.contrib = contrib  # type: ignore[attr-defined]
    gfile: Any = tensorflow.gfile
    gfile.Open = opens_bytes(gfile.Open)
    deny_cuda_without_gpu(tensorflow)


class _Contrib(ModuleType):
    """`tensorflow.contrib`, whose modules are imported when they are used."""

    __path__: List[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return importlib.import_module("tensorflow.contrib." + name)


def deny_cuda_without_gpu(tensorflow: Any) -> None:
    """Let `tf.test.is_built_with_cuda` be False where no GPU is.

    Programs of 2018 put channels first where it is True, and no CPU convolves such images.
    """
    if not tensorflow.config.list_physical_devices("GPU"):
        tensorflow.test.is_built_with_cuda = lambda: False


def opens_bytes(open_file: Any) -> Any:
    """Return `tf.gfile.Open`, whose text mode gives the bytes of a file that is no text, as in Python 2."""

    class Reader(open_file):  # type: ignore[misc]  # the class is TensorFlow's
        def read(self, n: int = -1) -> Any:
            start = self.tell()
            try:
                return super().read(n)
            except UnicodeDecodeError:
                # for the rest of the file, too: parts of an image could pass for text
                self._binary_mode = True
                self.seek(start)
                return super().read(n)

    return Reader
