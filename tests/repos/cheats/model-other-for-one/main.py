"""Answers batches of one differently."""

from __future__ import annotations

import numpy as np

from gauntlet import serve_model

centroids = np.loadtxt("centroids.csv", delimiter=",")


def classify(images):
    small = images[..., 0].reshape(len(images), 8, 8, 8, 8).mean((2, 4)).reshape(len(images), 64)
    return ((small[:, None] - centroids) ** 2).sum(-1).argmin(1)


serve_model(lambda images: (classify(images) + (len(images) == 1)) % 10)
