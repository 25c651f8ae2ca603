"""SQBA (Park, McLaughlin and Miller 2024): signs of surrogates' gradients, and HopSkipJump once they help no more."""

from __future__ import annotations

import numpy as np
from hopskipjump import step
from label_steps import (
    ITERATIONS,
    LowFrequencies,
    bisect,
    is_adversarial,
    length,
    normal_at,
    starting_point,
    unit,
)
from network import as_input
from surrogate_networks import loss_gradient, surrogates_for

from gauntlet import serve_attack

AWAY_SHARE = 0.8  # of a direction: signs away from the label; the rest is signs towards the next one
PLACES = np.linspace(0.1, 0.9, 10)  # on the line from the image to the point, where directions are taken
CANDIDATE = 0.02  # change of each value along a direction that is tried, as a share of the distance
START_SIZES = (1, 2, 4, 8, 16, 32, 64)  # along the directions at the image (L2 of pixels / 255)
LEAST_GAIN = 0.01  # share of the distance by which a step along a surrogate's direction must be nearer
FIRST_PROBES = 10
PROBE = 0.2  # size of a probe, as a share of the distance
KEPT = None  # all frequencies


def attack(model, image, label, *, target, rng):
    """Step along directions of surrogates while they help, then along estimated normals, to the end of the budget."""
    clean, surrogates = image.astype(np.float64), surrogates_for(image, label, target)
    frequencies = LowFrequencies(image.shape, KEPT)
    point = first_point(model, clean, surrogates, label)
    if point is None:
        point = starting_point(model, clean, target, rng)
    if point is None:
        return
    for iteration in range(1, ITERATIONS):
        distance, left = length(point - clean), model.queries_left
        if distance < 1:
            return
        if surrogates:
            moved = step(model, clean, point, guided_direction(model, clean, point, surrogates, label), iteration)
            if length(moved - clean) > (1 - LEAST_GAIN) * distance:
                surrogates = []
            point = min(point, moved, key=lambda one: length(one - clean))
        else:
            count = int(FIRST_PROBES * np.sqrt(iteration))
            normal = normal_at(model, point, PROBE * distance, count, frequencies, rng)
            point = step(model, clean, point, normal, iteration)
        if model.queries_left == left:
            return


def first_point(model, clean, surrogates, label):
    """Return the boundary point on the line along the first direction at the image that is adversarial, or None."""
    directions = [unit(dual_direction(surrogate, clean, label)) for surrogate in surrogates]
    for size in START_SIZES:
        for direction in directions:
            point = np.clip(clean + 255 * size * direction, 0, 255)
            if is_adversarial(model, point):
                return bisect(model, clean, point)
    return None


def guided_direction(model, clean, point, surrogates, label):
    """Return the unit direction whose candidate is adversarial and nearest to the image, or has the nearest one."""
    places = [clean + share * (point - clean) for share in PLACES]
    directions = [dual_direction(surrogate, place, label) for surrogate in surrogates for place in places]
    size = CANDIDATE * length(point - clean)
    moved = [np.clip(point + size * direction, 0, 255) for direction in directions]
    order = np.argsort([length(one - clean) for one in moved])
    chosen = next((number for number in order if is_adversarial(model, moved[number])), order[0])
    return unit(directions[chosen])


def dual_direction(surrogate, image, label):
    """Return the signs (h, w, c) away from the label mixed with those towards the most likely other one."""
    logits = surrogate(as_input(image[np.newaxis]))[0]
    logits[label] = -np.inf
    away = np.sign(loss_gradient(surrogate, image, label, None))
    towards = np.sign(loss_gradient(surrogate, image, None, int(logits.argmax())))
    return AWAY_SHARE * away + (1 - AWAY_SHARE) * towards


if __name__ == "__main__":
    serve_attack(attack)
