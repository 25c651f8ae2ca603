"""Sleeps for nearly ten times its limit at each image of the attack, and computes next to nothing."""

from __future__ import annotations

import time

import numpy as np

from gauntlet import serve_model

SECONDS = 0.39

centroids = np.loadtxt("centroids.csv", delimiter=",")
frames = 0


def predict(images):
    global frames
    frames += 1
    if frames > 1:  # the first ones are the clean images
        time.sleep(SECONDS * len(images))
    small = images[..., 0].reshape(len(images), 8, 8, 8, 8).mean((2, 4)).reshape(len(images), 64)
    return ((small[:, None] - centroids) ** 2).sum(-1).argmin(1)


serve_model(predict)
