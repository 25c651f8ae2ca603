"""Your network, in TensorFlow. It comes with one hidden layer for the digits; replace it and `weights.npz`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before the import: it says much about processors and GPUs

import tensorflow as tf

POOL = 4  # pixels of a side of a cell
# a Keras model of yours: tf.keras.models.load_model(Path(__file__).with_name("network.keras"), compile=False)
WEIGHTS = {
    name: tf.constant(values)
    for name, values in np.load(Path(__file__).with_name("weights.npz"), allow_pickle=False).items()
}


def network(pixels):
    """Return the scores of the classes (n, 10) of pixels (n, 64, 64, 3) from 0 to 255."""
    brightness = tf.reduce_mean(pixels, axis=-1, keepdims=True) / 255
    cells = tf.nn.avg_pool2d(brightness, POOL, POOL, "VALID")
    flat = tf.reshape(cells, (tf.shape(pixels)[0], -1))
    hidden = tf.nn.relu(flat @ WEIGHTS["hidden"] + WEIGHTS["hidden_bias"])
    return hidden @ WEIGHTS["output"] + WEIGHTS["output_bias"]


def scores(images):
    """Return the scores of the classes (n, 10) of images (n, 64, 64, 3) with values from 0 to 255."""
    return network(_pixels(images)).numpy()


def gradients(images, weights):
    """Return the gradient of the sum of `weights` (n, 10) times scores by the values of the images. Attacks need it."""
    pixels = _pixels(images)
    with tf.GradientTape() as tape:
        tape.watch(pixels)
        total = tf.reduce_sum(network(pixels) * weights)
    return tape.gradient(total, pixels).numpy()


def _pixels(images):
    return tf.convert_to_tensor(np.asarray(images, np.float32))
