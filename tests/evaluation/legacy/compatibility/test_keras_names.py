"""Names of Keras 2.0, over a package of the test with the modules of Keras 2.15."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.legacy.player_modules import SOURCE

KERAS = {
    "__init__.py": "",
    "layers/__init__.py": "class Layer: pass\nInputSpec = Input = InputLayer = Dense = Layer",
    "models.py": "class Model: pass",
    "losses.py": "mse = 'loss'",
    "backend/__init__.py": "order = ['channels_last']\ndef image_data_format(): return order[0]\n"
    "def set_image_data_format(value): order[0] = value",
    "applications/__init__.py": "",
    "applications/imagenet_utils.py": "",
    "utils/__init__.py": "",
    "src/__init__.py": "",
    "src/backend.py": "def get_session(): return 'session'\ndef set_session(session): pass",
    "src/utils/__init__.py": "",
    "src/utils/np_utils.py": "to_categorical = 'to_categorical'",
    "src/utils/layer_utils.py": "get_source_inputs = 'inputs'",
    "src/applications/__init__.py": "",
    "src/applications/imagenet_utils.py": "def obtain_input_shape(*arguments): return arguments",
}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package."""
    folder = tmp_path_factory.mktemp("packages")
    for name, content in KERAS.items():
        path = folder / "keras" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def run(code: str, packages: Path) -> str:
    path = f"{SOURCE}:{packages}"
    # tensorflow itself is imported by keras.backend alone, and changed by functions that other tests cover
    code = f"import sys, types; sys.modules['tensorflow'] = types.ModuleType('tensorflow')\n{code}"
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    return process.stdout.strip()


def test_np_utils_is_in_its_old_module(packages: Path) -> None:
    code = "from keras.utils import np_utils; import keras.utils.np_utils as same; print(np_utils.to_categorical, same)"
    assert run(code, packages).startswith("to_categorical <module 'keras.utils.np_utils'")


def test_layers_are_in_their_modules(packages: Path) -> None:
    code = "from keras.layers.core import Dense; import keras.layers; print(Dense is keras.layers.Dense)"
    assert run(code, packages) == "True"


def test_the_engine_has_layers_and_models(packages: Path) -> None:
    code = (
        "import keras.layers, keras.models; from keras.engine.topology import Layer, get_source_inputs\n"
        "from keras.engine import Model\n"
        "print(Layer is keras.layers.Layer, Model is keras.models.Model, get_source_inputs)"
    )
    assert run(code, packages) == "True True inputs"


def test_the_backend_has_a_session_and_the_order_of_dimensions(packages: Path) -> None:
    code = (
        "import keras.backend as K; from keras.backend.tensorflow_backend import get_session\n"
        "print(get_session(), K.image_dim_ordering()); K.set_image_dim_ordering('th')\n"
        "print(K.image_dim_ordering(), K.image_data_format(), K.tf.__name__)"
    )
    assert run(code, packages).split() == ["session", "tf", "th", "channels_first", "tensorflow"]


def test_the_shape_of_an_application_is_asked_in_both_old_ways(packages: Path) -> None:
    code = (
        "from keras.applications.imagenet_utils import _obtain_input_shape as shape\n"
        "print(shape(None, 299, 71, 'tf', include_top=False)[4], shape(None, 299, 71, 'tf', require_flatten=True)[4])"
    )
    assert run(code, packages) == "False True"
