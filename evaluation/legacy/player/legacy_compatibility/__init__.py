"""What programs of 2017 and 2018 expect of Python and of packages that have changed since.

`install` costs nothing where a package is not used: each is changed when the program imports it.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from legacy_compatibility import (
    keras_names,
    numpy_names,
    old_sources,
    pillow_names,
    python_names,
    tensorflow_names,
    torch_names,
    torchvision_names,
    yaml_loader,
)
from legacy_compatibility.import_hook import ImportHook


def install() -> None:
    """Put back the names of `collections` and the sources of Python 2; have packages changed when they are imported."""
    python_names.restore()
    old_sources.restore()
    hook = ImportHook()
    hook.after("numpy", numpy_names.restore)
    hook.after("scipy.misc", _restore_scipy_images, make=True)
    hook.after("scipy.ndimage", _restore_scipy_imread)
    hook.after("PIL.Image", pillow_names.restore)
    hook.after("torch", torch_names.restore)
    hook.after("torch.autograd.gradcheck", torch_names.restore_zero_gradients)
    hook.after("torch.utils.data.dataloader", torch_names.restore_next)
    hook.after("torchvision.extension", torchvision_names.define_operators)
    hook.after("torchvision.transforms", torchvision_names.restore_transforms)
    hook.after("yaml", yaml_loader.restore)
    hook.after("keras", keras_names.restore)
    hook.after("keras.backend", keras_names.restore_backend)
    hook.after("keras.applications.imagenet_utils", keras_names.restore_input_shape)
    hook.after("tensorflow", tensorflow_names.restore)
    hook.after("tf_slim.layers.utils", tensorflow_names.restore_scope_names)
    hook.install()


def _restore_scipy_images(misc: ModuleType) -> None:
    importlib.import_module("legacy_compatibility.scipy_images").restore(misc)  # needs numpy, so not before


def _restore_scipy_imread(ndimage: ModuleType) -> None:
    importlib.import_module("legacy_compatibility.scipy_images").restore_imread(ndimage)
