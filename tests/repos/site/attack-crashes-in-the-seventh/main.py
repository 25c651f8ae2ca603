"""Fades the image towards its negative, and crashes with the seventh image that it is given."""

from __future__ import annotations

import os

from evaluation.sdk import serve_attack

given = 0


def attack(model, image, label, *, target, rng):
    global given
    given += 1
    if given == 7:
        print("the images are", image)
        os._exit(3)
    for step in range(1, 26):
        model(image + (255.0 - 2.0 * image) * step / 50)
    return model.best


serve_attack(attack)
