"""Nearest class mean that computes for half of its limit at each image: the honest twin of one that sleeps."""

from __future__ import annotations

import time

import numpy as np

from gauntlet import serve_model

SECONDS = 0.02

centroids = np.loadtxt("centroids.csv", delimiter=",")


def predict(images):
    end = time.process_time() + SECONDS * len(images)
    while time.process_time() < end:
        small = images[..., 0].reshape(len(images), 8, 8, 8, 8).mean((2, 4)).reshape(len(images), 64)
        labels = ((small[:, None] - centroids) ** 2).sum(-1).argmin(1)
    return labels


serve_model(predict)
