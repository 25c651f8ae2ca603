"""`keras.engine` and `keras.engine.topology` of Keras 2.0, for those that import them."""

from __future__ import annotations

import importlib
from typing import Any

_layers: Any = importlib.import_module("keras.layers")
_models: Any = importlib.import_module("keras.models")
_utilities: Any = importlib.import_module("keras.src.utils.layer_utils")

Layer, InputSpec, Input, InputLayer = _layers.Layer, _layers.InputSpec, _layers.Input, _layers.InputLayer
Model = Container = _models.Model
get_source_inputs = _utilities.get_source_inputs
