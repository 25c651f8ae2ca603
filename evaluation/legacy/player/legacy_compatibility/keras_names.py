"""Names of Keras 2.0, over Keras 2.15."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from legacy_compatibility.aliases import Aliases

_LAYERS = (
    "advanced_activations", "convolutional", "core", "embeddings", "local", "merge", "noise", "normalization",
    "pooling", "recurrent", "wrappers",
)  # fmt: skip
_UTILITIES = ("conv_utils", "data_utils", "generic_utils", "layer_utils", "np_utils", "vis_utils")

_NEW_NAMES = {
    **{"keras.layers." + name: "keras.layers" for name in _LAYERS},
    **{"keras.utils." + name: "keras.src.utils." + name for name in _UTILITIES},
    "keras.engine.topology": "legacy_compatibility.keras_engine",
    "keras.engine.training": "keras.models",
    "keras.engine": "legacy_compatibility.keras_engine",
    "keras.objectives": "keras.losses",
    "keras.backend.tensorflow_backend": "keras.backend",
}


def restore(keras: ModuleType) -> None:
    """Put back the modules of layers, utilities, `keras.engine` and `keras.objectives`."""
    sys.meta_path.insert(0, Aliases(_NEW_NAMES))


def restore_backend(backend: ModuleType) -> None:
    """Put back the session, `image_dim_ordering` with its two words, and `keras.backend.tf`."""
    names: Any = backend
    own: Any = importlib.import_module("keras.src.backend")
    names.get_session, names.set_session = own.get_session, own.set_session
    names.tf = importlib.import_module("tensorflow")
    names.image_dim_ordering = lambda: "th" if names.image_data_format() == "channels_first" else "tf"
    names.set_image_dim_ordering = lambda order: names.set_image_data_format(
        "channels_first" if order == "th" else "channels_last"
    )


def restore_input_shape(imagenet_utils: ModuleType) -> None:
    """Put back `_obtain_input_shape` of the module of applications."""
    own: Any = importlib.import_module("keras.src.applications.imagenet_utils")

    def obtain(
        input_shape: Any,
        default_size: int,
        min_size: int,
        data_format: str,
        require_flatten: bool = True,
        weights: Any = None,
        include_top: Any = None,  # the name of `require_flatten` until Keras 2.0.8
    ) -> Any:
        flatten = require_flatten if include_top is None else include_top
        return own.obtain_input_shape(input_shape, default_size, min_size, data_format, flatten, weights)

    imagenet_utils._obtain_input_shape = obtain  # type: ignore[attr-defined]
