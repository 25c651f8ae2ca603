"""Generalised Tangent Attack, G-TA (Ma et al. 2021): HopSkipJump whose steps touch a semi-ellipsoid."""

from __future__ import annotations

import numpy as np
from label_steps import bisect, is_adversarial, length, unit, walking

from gauntlet import serve_attack

FIRST_PROBES = 50
PROBE = 0.2
KEPT = None  # all frequencies
RATIO = 1.1  # of the long to the short radius
HALVINGS = 15


def step(model, image, point, normal, iteration):
    """Go to the tangent point, of a smaller ellipsoid until that is adversarial, then back to the boundary."""
    long = length(point - image) / np.sqrt(iteration)
    for _ in range(HALVINGS):
        moved = tangent_point(image, point, normal, long, long / RATIO)
        if is_adversarial(model, moved):
            return bisect(model, image, moved)
        long /= 2
    return point


def tangent_point(image, point, normal, long, short):
    """Return where a line from the image touches the semi-ellipse around `point`, on the side of the normal.

    It lies in the plane of the normal and the image, with its long axis along the normal (theorem 1 for the sphere).
    Stretched to a circle, the tangent from (a, b) outside touches at (r^2 p + r sqrt(|p|^2 - r^2) q) / |p|^2, where p
    is (a, b) and q is p turned by a right angle; here r is 1.
    """
    away = image - point
    height = float(np.vdot(away, normal))
    along = unit(away - height * normal)
    a, b = float(np.vdot(away, along)) / short, height / long
    square = a * a + b * b
    if square <= 1:  # the image is inside: the top of the ellipse
        return point + long * normal
    root = np.sqrt(square - 1)
    x, y = (a - b * root) / square, (b + a * root) / square
    return point + short * x * along + long * y * normal


attack = walking(step, first_probes=FIRST_PROBES, probe=PROBE, kept=KEPT)

if __name__ == "__main__":
    serve_attack(attack)
