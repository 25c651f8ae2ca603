"""Gradient of the loss of your network, which the attacks follow."""

from __future__ import annotations

import numpy as np
from network import gradients, scores


def loss_gradient(images, labels):
    """Return the gradient of the cross-entropy of `labels` (n,) by the values of `images` (n, h, w, 3)."""
    logits = scores(images).astype(np.float64)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    weights[np.arange(len(labels)), labels] -= 1
    return gradients(images, weights.astype(np.float32))
