"""What participants import. Needs numpy alone, and Python 3.8 or newer.

    from evaluation.sdk import serve_model

    def predict(images):                # uint8 (n, height, width, 3) -> n labels
        return my_network(images).argmax(axis=1)

    serve_model(predict)

or

    from evaluation.sdk import serve_attack

    def attack(model, image, label, *, target, rng):
        ...
        return perturbed                # uint8, or float in 0 to 255, which is rounded and clipped

    serve_attack(attack)
"""

from __future__ import annotations

from evaluation.sdk.attack import serve_attack
from evaluation.sdk.handle import BudgetExhausted, ModelHandle
from evaluation.sdk.images import as_uint8
from evaluation.sdk.model import serve_model

__all__ = ["BudgetExhausted", "ModelHandle", "as_uint8", "serve_attack", "serve_model"]
