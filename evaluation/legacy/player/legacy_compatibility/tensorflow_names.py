"""TensorFlow 1's names, over the module `compat.v1` of TensorFlow 2.15."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, List

from legacy_compatibility.aliases import Aliases

# the first that fits counts
_NEW_NAMES = {
    "tensorflow.contrib.slim.python.slim": "tf_slim",
    "tensorflow.contrib.slim.python": "tf_slim",
    "tensorflow.contrib.slim": "tf_slim",
    "tensorflow.contrib.layers.python.layers": "tf_slim.layers",
    "tensorflow.contrib.layers.python": "tf_slim",
    "tensorflow.contrib.layers": "tf_slim.layers",
    "tensorflow.contrib.framework.python.ops.arg_scope": "tf_slim.ops.arg_scope",
    "tensorflow.contrib.framework.python.ops.variables": "tf_slim.ops.variables",
    "tensorflow.contrib.framework.python.ops": "tf_slim",
    "tensorflow.contrib.framework.python": "tf_slim",
    "tensorflow.contrib.framework": "tf_slim",
    "tensorflow.contrib.image": "legacy_compatibility.contrib_image",
    "tensorflow.contrib.keras.python.keras": "keras",
    "tensorflow.contrib.keras.python": "keras",
    "tensorflow.contrib.keras.api.keras": "keras",
    "tensorflow.contrib.keras.api": "keras",
    "tensorflow.contrib.keras": "keras",
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
    read_known_flags(type(tensorflow.flags.FLAGS))
    let_programs_define(tensorflow.flags.FLAGS)
    deny_cuda_without_gpu(tensorflow)
    leave_out_autograph(importlib.import_module("tensorflow.python.autograph.core.ag_ctx"))


def restore_scope_names(utils: Any) -> None:
    """Have slim's layers name what they return by its name scope, too, as in version 1.1: `while/NAME` in a loop."""
    collect = utils.collect_named_outputs

    def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
        scope = importlib.import_module("tensorflow.compat.v1").get_variable_scope()
        if collections and alias == scope.name:
            utils.append_tensor_alias(outputs, scope.original_name_scope)
        return collect(collections, alias, outputs)

    utils.collect_named_outputs = collect_named_outputs


class _Contrib(ModuleType):
    """`tensorflow.contrib`, whose modules are imported when they are used."""

    __path__: List[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return importlib.import_module("tensorflow.contrib." + name)


def read_known_flags(values: Any) -> None:
    """Let `tf.flags.FLAGS`, of the class `values`, parse at the first use of a flag what is defined by then.

    In TensorFlow 1.1 unknown flags were left for `tf.app.run`, which parses again, and a program could set a flag that
    nobody had defined. Today both end the program.
    """

    def flag(self: Any, name: str) -> Any:
        defined = self.__dict__["__wrapped"]
        if name == "_parse_flags":  # its name until TensorFlow 1.4, for programs without tf.app.run
            return lambda args=None: defined([sys.argv[0], *(sys.argv[1:] if args is None else args)], known_only=True)
        if not defined.is_parsed():
            defined(sys.argv, known_only=True)
        return defined.__getattr__(name)

    def set_flag(self: Any, name: str, value: Any) -> None:
        defined = self.__dict__["__wrapped"]
        if not defined.is_parsed():
            defined(sys.argv, known_only=True)
        if name in defined:
            setattr(defined, name, value)
        else:
            self.__dict__[name] = value

    values.__getattr__, values.__setattr__ = flag, set_flag


def let_programs_define(flags: Any) -> None:
    """Let a program define flags that are defined already: absl's, such as `log_dir`, which TensorFlow 1.1 had not."""
    for name in flags:
        flags[name].allow_override = True


def deny_cuda_without_gpu(tensorflow: Any) -> None:
    """Let `tf.test.is_built_with_cuda` be False where no GPU is.

    Programs of 2018 put channels first where it is True, and no CPU convolves such images.
    """
    if not tensorflow.config.list_physical_devices("GPU"):
        tensorflow.test.is_built_with_cuda = lambda: False


def leave_out_autograph(context: Any) -> None:
    """Have no code rewritten by AutoGraph, which TensorFlow 1.1 had not: it doubles the time to build a network."""
    context._default_control_status_ctx = lambda: context.ControlStatusCtx(status=context.Status.DISABLED)


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
