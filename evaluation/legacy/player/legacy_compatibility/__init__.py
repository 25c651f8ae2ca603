"""What programs of 2017 and 2018 expect of Python and of packages that have changed since.

`install` costs nothing where a package is not used: each is changed when the program imports it.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from legacy_compatibility import collection_names, numpy_names, tensorflow_names, torch_names, yaml_loader
from legacy_compatibility.import_hook import ImportHook


def install() -> None:
    """Put back the names of `collections`, and have the packages changed when they are imported."""
    collection_names.restore()
    hook = ImportHook()
    hook.after("numpy", numpy_names.restore)
    hook.after("scipy.misc", _restore_scipy_images, make=True)
    hook.after("torch", torch_names.restore)
    hook.after("torch.autograd.gradcheck", torch_names.restore_zero_gradients)
    hook.after("yaml", yaml_loader.restore)
    hook.after("tensorflow", tensorflow_names.restore)
    hook.install()


def _restore_scipy_images(misc: ModuleType) -> None:
    importlib.import_module("legacy_compatibility.scipy_images").restore(misc)  # needs numpy, so not before
