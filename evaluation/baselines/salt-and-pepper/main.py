"""Salt and pepper: more and more pixels turn black or white until the model errs, then fewer again."""

from __future__ import annotations

import numpy as np
from foolbox.attacks import SaltAndPepperNoiseAttack
from foolbox.criteria import Misclassification

from gauntlet import serve_attack
from gauntlet.foolbox_adapter import FoolboxModel

STEPS = 400  # foolbox asks once a step, so its own default of 1,000 would overrun the budget


def attack(model, image, label, *, target, rng):
    """Run foolbox's attack. The closest adversarial that was seen counts, so nothing is returned."""
    clean = image[np.newaxis].astype(np.float32) / 255
    noise = SaltAndPepperNoiseAttack(steps=STEPS, channel_axis=-1)
    noise.run(FoolboxModel(model), clean, Misclassification(np.array([label])))


if __name__ == "__main__":
    serve_attack(attack)
