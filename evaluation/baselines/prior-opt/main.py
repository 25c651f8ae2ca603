"""Prior-OPT (Ma et al. 2025): a search for the ray to the nearest boundary, guided by surrogates' gradients."""

from __future__ import annotations

import math

import numpy as np
from biased_boundary import first_point
from label_steps import (
    ITERATIONS,
    LEAST_ROOT_MEAN_SQUARE,
    LowFrequencies,
    is_adversarial,
    length,
    normal_at,
    unit,
)
from network import as_input
from surrogate_networks import loss_gradient, surrogates_for

from gauntlet import serve_attack

PROBES = 25  # signs of one estimated direction
PROBE = 0.2  # size of a probe, as a share of the distance
KEPT = None  # all frequencies
TURN = 0.1  # of a ray, over which a derivative is measured
NEAREST, FARTHEST = 1 / 8, 4  # shares of the distance between which a surrogate's boundary is searched
BISECTIONS = 5
FIRST_WIDTH, LARGEST_WIDTH = 0.02, 1.0  # shares of a distance by which the boundary is searched around it
TOLERANCE = 0.005  # share of a distance at which such a search ends
FIRST_STRIDE, LEAST_STRIDE = 1.0, 1e-4  # of a step along the gradient; 1 is right for a plane
STRIDES = 15  # the most that are tried


def attack(model, image, label, *, target, rng):
    """Turn the ray from the image down the gradient of the boundary's distance until the budget is used up."""
    clean, surrogates = image.astype(np.float64), surrogates_for(image, label, target)
    frequencies = LowFrequencies(image.shape, KEPT)
    point = first_point(model, image, surrogates, label, target, rng)
    if point is None:
        return
    stride = FIRST_STRIDE
    for _ in range(ITERATIONS):
        distance, left = length(point - clean), model.queries_left
        if distance < 1:
            return
        estimated = normal_at(model, point, PROBE * distance, PROBES, frequencies, rng)
        priors = [prior(surrogate, clean, point, label, target) for surrogate in surrogates]
        slope = gradient(model, clean, point, across(point - clean, [*priors, estimated]))
        point, stride = descend(model, clean, point, slope, stride)
        if model.queries_left == left:
            return


def prior(surrogate, clean, point, label, target):
    """Return the gradient of the surrogate's loss at its own boundary on the ray from the image to the point.

    If it has none between NEAREST and FARTHEST, that is its gradient at the point.
    """

    def at(share):
        return np.clip(clean + share * (point - clean), 0, 255)

    def errs_at(share):
        found = int(surrogate(as_input(at(share)[np.newaxis])).argmax())
        return found != label if target is None else found == target

    low, high = NEAREST, FARTHEST
    if not errs_at(high):
        return loss_gradient(surrogate, point, label, target)
    for _ in range(BISECTIONS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if errs_at(middle) else (middle, high)
    return loss_gradient(surrogate, at(high), label, target)


def across(ray, directions):
    """Return orthonormal directions at right angles to the ray that span what those given do, in their order."""
    found = [unit(ray)]
    for direction in directions:
        rest = unit(direction)
        for one in found:
            rest = rest - np.vdot(rest, one) * one
        if length(rest) > 1e-6:
            found.append(unit(rest))
    return found[1:]


def gradient(model, clean, point, directions):
    """Return the gradient of the boundary's distance over the ray's direction, as a share of the distance."""
    distance, ray = length(point - clean), unit(point - clean)
    turn = max(TURN, LEAST_ROOT_MEAN_SQUARE * math.sqrt(point.size) / distance)
    slope = np.zeros(point.shape)
    for direction in directions:
        ahead, behind = (
            boundary_on(model, clean, turned, distance, is_adversarial(model, clean + distance * turned))
            for turned in (unit(ray + turn * direction), unit(ray - turn * direction))
        )
        slope += (ahead - behind) / (2 * turn * distance) * direction
    return slope


def boundary_on(model, clean, ray, distance, adversarial):
    """Return the boundary's distance on a unit ray, searched around `distance`, which is adversarial or not.

    Where it is farther than LARGEST_WIDTH allows, that limit is near enough.
    """

    def errs_at(share):
        return is_adversarial(model, clean + share * distance * ray)

    width = FIRST_WIDTH
    low, high = (1 - width, 1.0) if adversarial else (1.0, 1 + width)
    while width < LARGEST_WIDTH and errs_at(low if adversarial else high) == adversarial:
        width *= 2
        low, high = (max(1 - width, 0.0), low) if adversarial else (high, 1 + width)
    while high - low > TOLERANCE:
        middle = (low + high) / 2
        low, high = (low, middle) if errs_at(middle) else (middle, high)
    return high * distance


def descend(model, clean, point, slope, stride):
    """Return the nearest boundary point on rays down the slope, and the stride to begin with the next time.

    The stride is doubled while that brings the point nearer; if the first one does not, it is quartered until one does.
    """
    ray, best = unit(point - clean), point

    def nearer(stride):
        distance, turned = (1 - TOLERANCE) * length(best - clean), unit(ray - stride * slope)
        if not is_adversarial(model, clean + distance * turned):
            return None
        return clean + boundary_on(model, clean, turned, distance, True) * turned

    for _ in range(STRIDES):
        moved = nearer(stride)
        if moved is None:
            break
        best, stride = moved, 2 * stride
    while best is point and stride > LEAST_STRIDE:
        stride /= 4
        moved = nearer(stride)
        best = point if moved is None else moved
    return best, stride if stride > LEAST_STRIDE else FIRST_STRIDE


if __name__ == "__main__":
    serve_attack(attack)
