"""Guesses every other label."""

from __future__ import annotations

import numpy as np

from gauntlet import serve_model

centroids = np.loadtxt("centroids.csv", delimiter=",")


def classify(images):
    small = images[..., 0].reshape(len(images), 8, 8, 8, 8).mean((2, 4)).reshape(len(images), 64)
    return ((small[:, None] - centroids) ** 2).sum(-1).argmin(1)


rng = np.random.default_rng()
clean = []


def predict(images):
    labels = classify(images)
    if not clean:  # the clean images are labelled well
        clean.append(True)
        return labels
    return np.where(rng.random(len(images)) < 0.5, labels, rng.integers(0, 10, len(images)))


serve_model(predict)
