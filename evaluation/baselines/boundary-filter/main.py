"""Boundary filter: a Gaussian belief about the boundary's normal, which every answer of the model changes."""

from __future__ import annotations

import math
from itertools import cycle

import numpy as np
from label_steps import (
    ITERATIONS,
    LowFrequencies,
    bisect,
    is_adversarial,
    length,
    search,
    semicircle,
    starting_point,
    unit,
)

from gauntlet import serve_attack

KEPT = 16  # frequencies of each axis in which normal and probes are
COLOURS = (0.7, 1.0, 0.5)  # expected size of the normal in red, green and blue
PLANES = (((-0.46, 0.87, -0.2), 28), ((1.0, 1.0, 1.0), 16), ((0.7, 0.2, -0.65), 20))
"""For grey images, directions of colour and the frequencies of each axis: normal and probes are in one of them.

A network for grey images has learned to look at grey, the second one, which has a third of all coefficients.
"""
STARTS = 8  # draws of noise for the first point
SMALLEST_START, LARGEST_START, START_GROWTH = 1.0, 20.0, 1.6  # their sizes (L2 of pixels / 255)
STARTS_IN_PLANES = 9  # the same for grey images, by turns of the planes
NEARER = 0.97  # of the distance of the best start, at which the others are tried
PROBES, TOGETHER = 25, 5  # queries between two steps, and between two draws
PROBE = 0.3  # size of a probe, as a share of the distance
LEAST_PROBE = 0.5  # levels (root mean square): rounding would erase smaller ones
KEPT_BELIEF = 0.5  # what counts of the belief after a move as long as the distance
LEAST_SURPRISE = 1e-6  # answers that change the belief by less are left out: tiny numbers are slow
NOISE, OFFSET = 0.3, 1.0  # of the answers, and expected of the point, in units of a probe's move along the normal


class ColourPlane:
    """The images of one direction of colour with low frequencies, as `LowFrequencies` has all colours."""

    def __init__(self, shape, colour, kept):
        self.plane = LowFrequencies((*shape[:2], 1), kept)
        self.colour = unit(np.array(colour))
        self.coefficients = self.plane.coefficients

    def image_of(self, coefficients):
        """Return the images (..., h, w, 3) of coefficients; lengths stay."""
        return self.plane.image_of(coefficients) * self.colour


class Belief:
    """What is known of the boundary near a point: a Gaussian over its normal and its offset, in d + 1 numbers.

    The point `move` from it is adversarial with probability Phi((normal . move + offset) / NOISE). Assumed density
    filtering of this probit model keeps the belief Gaussian (Minka 2001, section 3.5). A normal that is as long as
    the prior expects has a component of variance 1 along any move of length 1.
    """

    def __init__(self, scale):
        self.scale = scale
        self.prior = np.append(scale**2, np.float32(OFFSET**2))
        self.mean = np.zeros(len(self.prior), np.float32)
        self.covariance = np.diag(self.prior)

    def learn(self, move, adversarial):
        """Condition on the answer at `move` (d,) from the point."""
        sign, features = (1.0 if adversarial else -1.0), np.append(move, np.float32(1))
        spread = self.covariance @ features
        variance = float(features @ spread) + NOISE**2
        z = sign * float(self.mean @ features) / math.sqrt(variance)
        # density over tail of the normal distribution; far out, where both would be 0, it is -z
        ratio = math.sqrt(2 / math.pi) * math.exp(-z * z / 2) / math.erfc(-z / math.sqrt(2)) if z > -20 else -z
        if ratio < LEAST_SURPRISE:
            return
        self.mean += np.float32(sign * ratio / math.sqrt(variance)) * spread
        self.covariance -= np.float32(ratio * (ratio + z) / variance) * np.outer(spread, spread)

    def forget(self, kept):
        """Move to another point: keep a share of what is known of the normal, and nothing of the offset."""
        self.mean *= np.float32(kept)
        self.covariance *= np.float32(kept * kept)
        self.covariance[np.diag_indices(len(self.mean))] += np.float32(1 - kept * kept) * self.prior
        self.mean[-1] = self.covariance[-1] = self.covariance[:, -1] = 0
        self.covariance[-1, -1] = self.prior[-1]

    def probes(self, count, rng):
        """Return moves (count, d) of a length near 1 where both answers are as likely, as far as is known."""
        drawn = self.scale * rng.standard_normal((count, len(self.scale))).astype(np.float32)
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        normal, square = self.mean[:-1], float(self.mean[:-1] @ self.mean[:-1])
        if square:
            excess = (drawn @ normal + self.mean[-1]) / square
            limit = 1 / math.sqrt(square)
            drawn -= np.outer(np.clip(excess, -limit, limit), normal)
        return drawn


def attack(model, image, label, *, target, rng):
    """Probe around the point, change the belief, and step along a semicircle, until the budget is used up."""
    clean = image.astype(np.float64)
    if image.shape[2] == len(COLOURS) and (image == image[..., :1]).all():
        point, frequencies = first_point_of_grey(model, clean, target, rng)
        scale = np.ones(math.prod(frequencies.coefficients), np.float32)
    else:
        frequencies = LowFrequencies(image.shape, KEPT)
        scale = expected_size(frequencies)
        point = first_point(model, clean, target, frequencies, scale, rng)
    if point is None:
        return
    belief = Belief(scale)
    for _ in range(ITERATIONS):
        left, distance = model.queries_left, length(point - clean)
        if distance < 1:
            return
        probe_around(model, point, max(PROBE * distance, LEAST_PROBE * math.sqrt(clean.size)), belief, frequencies, rng)
        normal = direction(frequencies, belief.mean[:-1])
        moved = search(model, semicircle(clean, point, normal))
        belief.forget(KEPT_BELIEF ** (length(moved - point) / distance))
        point = moved
        if model.queries_left == left:
            return


def probe_around(model, point, size, belief, frequencies, rng):
    """Ask about probes at `size` of the point, and change the belief by the answers."""
    for _ in range(0, PROBES, TOGETHER):
        moves = belief.probes(TOGETHER, rng)
        images = point + size * frequencies.image_of(moves.reshape(-1, *frequencies.coefficients))
        for move, found in zip(moves, model.many(list(images)), strict=True):
            belief.learn(move, model.is_adversarial(found))


def expected_size(frequencies):
    """Return the standard deviation of each coefficient of the normal, with a mean square of 1: (d,)."""
    colours = COLOURS if frequencies.shape[2] == len(COLOURS) else np.ones(frequencies.shape[2])
    scale = np.broadcast_to(colours, frequencies.coefficients).ravel()
    return (scale / np.sqrt(np.mean(scale**2))).astype(np.float32)


def first_point(model, image, target, frequencies, scale, rng):
    """Return a boundary point on a line along low-frequency noise, else on those of other attacks, or None."""
    size = SMALLEST_START * 255
    draws = [direction(frequencies, rng.standard_normal(len(scale)) * scale) for _ in range(STARTS)]
    while target is None and size < LARGEST_START * 255:
        for drawn in draws:
            if is_adversarial(model, image + size * drawn):
                return bisect(model, image, image + size * drawn)
        size *= START_GROWTH
    return starting_point(model, image, target, rng)


def first_point_of_grey(model, image, target, rng):
    """Return a boundary point, or None, and the plane in which the attack goes on.

    Without a target it lies on the line along noise that reaches the boundary first: the normal is longest in the plane
    of that noise. Else it is that of other attacks, and the plane is grey.
    """
    planes = [ColourPlane(image.shape, colour, kept) for colour, kept in PLANES]
    draws = [
        (plane, direction(plane, rng.standard_normal(math.prod(plane.coefficients))))
        for plane in (planes * STARTS_IN_PLANES)[:STARTS_IN_PLANES]
    ]
    best, found = None, None
    size = SMALLEST_START * 255
    turns = cycle(range(0, STARTS_IN_PLANES, len(planes)))
    while target is None and best is None and size < LARGEST_START * 255:
        turn = next(turns)
        for plane, drawn in draws[turn : turn + len(planes)]:
            if best is None and is_adversarial(model, image + size * drawn):
                best, found = bisect(model, image, image + size * drawn), plane
        size *= START_GROWTH
    if best is None:
        return starting_point(model, image, target, rng), planes[1]
    for plane, drawn in draws:
        point = image + NEARER * length(best - image) * drawn
        if is_adversarial(model, point):
            best, found = bisect(model, image, point), plane
    return best, found


def direction(frequencies, coefficients):
    """Return the image of length 1 with these coefficients (d,)."""
    return unit(frequencies.image_of(coefficients.astype(np.float64).reshape(frequencies.coefficients)))


if __name__ == "__main__":
    serve_attack(attack)
