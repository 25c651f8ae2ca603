"""Fades the image towards its negative, and crashes on every image whose values sum up to a multiple of seven."""

from __future__ import annotations

import os

from gauntlet import serve_attack


def attack(model, image, label, *, target, rng):
    if int(image.sum(dtype="int64")) % 7 == 0:
        print("the images are", image)
        os._exit(3)
    for step in range(1, 26):
        model(image + (255.0 - 2.0 * image) * step / 50)
    return model.best


serve_attack(attack)
