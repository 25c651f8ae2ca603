"""What participants import. Needs numpy alone, and Python 3.8 or newer.

    from gauntlet import serve_model

    def predict(images):                # uint8 (n, height, width, 3) -> n labels
        return my_network(images).argmax(axis=1)

    serve_model(predict)

or

    from gauntlet import serve_attack

    def attack(model, image, label, *, target, rng):
        ...
        return perturbed                # uint8, or float in 0 to 255, which is rounded and clipped

    serve_attack(attack)
"""

from __future__ import annotations

import atexit
import gc

from gauntlet.attack import serve_attack
from gauntlet.handle import BudgetExhausted, ModelHandle
from gauntlet.images import as_uint8
from gauntlet.model import serve_model

__all__ = ["BudgetExhausted", "ModelHandle", "as_uint8", "serve_attack", "serve_model"]

# no garbage collection at exit, 0.3 s with PyTorch: a player starts and ends often, and its memory is freed with it
atexit.register(gc.freeze)
