"""The function that models of 2018 call."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np

from gauntlet import serve_model

_MOST_TRACEBACKS = 3
_UNCLASSIFIED = -1


def model_server(model: Any) -> None:
    """Answer with `model` until the match is over; 2018's server never returned.

    `model` has `channel_axis()` (1 or 3), maybe `bounds()`, and `predictions(image)`, which gets one float32 image in
    0..255 and returns a label or one value for each class. An exception leaves that one image without a label.
    """
    channel_axis = model.channel_axis()
    assert channel_axis in (1, 3), "model channel axis should be either 1 or 3"
    bounds = model.bounds() if hasattr(model, "bounds") else (0, 255)
    assert tuple(bounds) == (0, 255), (
        "bounds must be (0, 255), update your model or use the preprocessing argument of foolbox model wrappers"
    )
    serve_model(_Predictor(model, channel_axis).predict)


class _Predictor:
    """Asks the model image by image, as the server of 2018 did."""

    def __init__(self, model: Any, channel_axis: int) -> None:
        self._model = model
        self._channel_axis = channel_axis
        self._failures = 0

    def predict(self, images: np.ndarray) -> np.ndarray:
        return np.asarray([self._label_or_none(image) for image in images], np.int64)

    def _label_or_none(self, image: np.ndarray) -> int:
        try:
            return _label(self._model, image, self._channel_axis)
        except Exception:
            self._failures += 1
            if self._failures <= _MOST_TRACEBACKS:
                traceback.print_exc()
                print("the model gave no label for this image; it goes on", flush=True)
            return _UNCLASSIFIED


def _label(model: Any, image: np.ndarray, channel_axis: int) -> int:
    given = image.astype(np.float32)
    prediction = np.asarray(model.predictions(np.transpose(given, (2, 0, 1)) if channel_axis == 1 else given))
    label = int(np.argmax(prediction) if prediction.size > 1 else prediction.item())
    # the range of labels is the referee's; what an int16 cannot hold stays invalid
    return min(max(label, _UNCLASSIFIED), 32767)
