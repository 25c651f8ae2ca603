"""The model as a foolbox model, so that foolbox's decision-based attacks run against it."""

from __future__ import annotations

from typing import Any

import eagerpy as ep
import numpy as np
from foolbox.models.base import Model
from foolbox.types import Bounds

from gauntlet.handle import ModelHandle


class FoolboxModel(Model):
    """Wraps the handle of an attack. Images are float32 (n, height, width, channels) with values in 0 to 1.

    Answers one-hot rows (n, classes); a label of -1 gives a row that meets the criterion at hand. Queries are
    charged as always, and BudgetExhausted passes through foolbox untouched.
    """

    def __init__(self, model: ModelHandle) -> None:
        self._model = model

    @property
    def bounds(self) -> Bounds:
        return Bounds(0, 1)

    def __call__(self, inputs: Any) -> Any:
        tensor, restore_type = ep.astensor_(inputs)  # type: ignore[attr-defined]  # eagerpy re-exports without __all__
        images = np.asarray(tensor.numpy(), np.float64) * 255.0
        labels = self._model.many(list(images))
        logits = np.zeros((len(labels), self._model.classes), np.float32)
        for row, label in zip(logits, labels):
            row[label if label >= 0 else self._adversarial_label()] = 1.0
        return restore_type(ep.from_numpy(tensor, logits))

    def _adversarial_label(self) -> int:
        if self._model.target is not None:
            return self._model.target
        return 0 if self._model.label != 0 else 1
