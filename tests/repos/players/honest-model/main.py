"""Nearest class mean over 8 x 8 block means of the bundled digits (train split)."""

from __future__ import annotations

import numpy as np

from gauntlet import serve_model

centroids = np.loadtxt("centroids.csv", delimiter=",")


def classify(images):
    small = images[..., 0].reshape(len(images), 8, 8, 8, 8).mean((2, 4)).reshape(len(images), 64)
    return ((small[:, None] - centroids) ** 2).sum(-1).argmin(1)


serve_model(classify)
