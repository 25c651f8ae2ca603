"""`transform` and `rotate` of `tf.contrib.image`, over an operation that TensorFlow still has."""

from __future__ import annotations

import importlib
from typing import Any


def transform(
    images: Any, transforms: Any, interpolation: str = "NEAREST", output_shape: Any = None, name: Any = None
) -> Any:
    """Return images whose pixel (x, y) is that of the input at ((a x + b y + c) / k, (d x + e y + f) / k).

    A transform has the numbers (a, b, c, d, e, f, g, h), and k is g x + h y + 1; there is one, or one for each image.
    Images are (count, rows, columns, channels), (rows, columns, channels) or (rows, columns).
    """
    tf: Any = importlib.import_module("tensorflow")
    images = tf.convert_to_tensor(images)
    transforms = tf.cast(transforms, tf.float32)
    rank = images.get_shape().ndims
    if rank not in (2, 3, 4):
        raise TypeError("Images should have rank between 2 and 4.")
    batch = images if rank == 4 else images[None] if rank == 3 else images[None, :, :, None]
    transformed = tf.raw_ops.ImageProjectiveTransformV2(
        images=batch,
        transforms=transforms if transforms.get_shape().ndims == 2 else transforms[None],
        output_shape=tf.shape(batch)[1:3] if output_shape is None else output_shape,
        interpolation=interpolation,
        name=name,
    )
    if output_shape is None:
        transformed.set_shape(batch.get_shape())
    return transformed if rank == 4 else transformed[0] if rank == 3 else transformed[0, :, :, 0]


def rotate(images: Any, angles: Any, interpolation: str = "NEAREST", name: Any = None) -> Any:
    """Return images rotated counterclockwise by angles in radians, one, or one for each image."""
    tf: Any = importlib.import_module("tensorflow")
    images = tf.convert_to_tensor(images)
    angles = tf.reshape(tf.cast(angles, tf.float32), [-1])
    rows, columns = (0, 1) if images.get_shape().ndims == 2 else (-3, -2)
    height, width = (tf.cast(tf.shape(images)[axis], tf.float32) for axis in (rows, columns))
    return transform(images, rotation_transforms(angles, height, width, tf), interpolation, name=name)


def rotation_transforms(angles: Any, height: Any, width: Any, functions: Any) -> Any:
    """Return the transforms of rotations about the centre of an image; `functions` has `cos`, `sin` and `stack`."""
    cosine, sine = functions.cos(angles), functions.sin(angles)
    right, bottom = width - 1, height - 1
    x = (right - (cosine * right - sine * bottom)) / 2
    y = (bottom - (sine * right + cosine * bottom)) / 2
    zero = angles * 0
    return functions.stack([cosine, -sine, x, sine, cosine, y, zero, zero], axis=1)


def angles_to_projective_transforms(angles: Any, image_height: Any, image_width: Any, name: Any = None) -> Any:
    """Return the transforms of rotations by angles in radians: (count, 8)."""
    tf: Any = importlib.import_module("tensorflow")
    height, width = tf.cast(image_height, tf.float32), tf.cast(image_width, tf.float32)
    return rotation_transforms(tf.reshape(tf.cast(angles, tf.float32), [-1]), height, width, tf)
