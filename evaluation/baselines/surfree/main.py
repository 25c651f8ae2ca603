"""SurFree (Maho, Furon and Le Merrer 2021): a walk on circles through the image, without any estimate of gradients."""

from __future__ import annotations

import numpy as np
from label_steps import ITERATIONS, LowFrequencies, is_adversarial, length, starting_point, unit

from gauntlet import serve_attack

KEPT = 32  # frequencies of each axis
FIRST_ANGLE, GROWTH = 30.0, 1.1  # degrees of the first trial; its growth and decline
TRIALS = 4  # angles of each sign
BISECTIONS = 5
REMEMBERED = 100  # directions to which the next ones are orthogonal


def attack(model, image, label, *, target, rng):
    """Turn the direction of the best point towards random ones until the budget is used up."""
    clean = image.astype(np.float64)
    point = starting_point(model, clean, target, rng)
    if point is None:
        return
    frequencies, largest, directions = LowFrequencies(image.shape, KEPT), FIRST_ANGLE, []
    for _ in range(ITERATIONS):
        left = model.queries_left
        distance, along = length(point - clean), unit(point - clean)
        if distance < 1:
            return
        across = orthogonal(frequencies.draw(rng, 1)[0], [along, *directions[-REMEMBERED:]])
        directions.append(across)
        angle = best_angle(
            model, lambda degrees, a=along, b=across, d=distance: turned(clean, a, b, d, degrees), largest
        )
        largest = largest * GROWTH if angle else largest / GROWTH
        if angle:
            point = turned(clean, along, across, distance, angle)
        if model.queries_left == left:
            return


def orthogonal(drawn, others):
    """Return the unit vector of what `drawn` has in no direction of `others` (Gram and Schmidt)."""
    for other in others:
        drawn = drawn - np.vdot(drawn, other) * other
    return unit(drawn)


def turned(image, along, across, distance, degrees):
    """Return the point at this angle on the circle whose diameter joins the image and the last point (equation 6)."""
    angle = np.radians(degrees)
    return image + distance * np.cos(angle) * (np.cos(angle) * along + np.sin(angle) * across)


def best_angle(model, at, largest):
    """Return the largest adversarial angle found, of either sign, or 0 (algorithms 2 and 3)."""
    trials = [sign * largest * (TRIALS - step) / TRIALS for step in range(TRIALS) for sign in (1, -1)]
    found = next((angle for angle in trials if is_adversarial(model, at(angle))), 0.0)
    if not found:
        return 0.0
    good, bad = found, min(2 * abs(found), 90.0) * np.sign(found)
    for _ in range(BISECTIONS):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if is_adversarial(model, at(middle)) else (good, middle)
    return good


if __name__ == "__main__":
    serve_attack(attack)
