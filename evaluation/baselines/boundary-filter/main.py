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
COLOURS = ((0.7, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.5))  # expected size of the normal in red, green and blue
PHOTOGRAPH = (((0.0, 1.0, 0.0), 48), ((0.5, 0.9, 0.3), KEPT), (COLOURS, KEPT))
"""For photographs, directions of colour and the frequencies of each axis: normal and probes are in one of these.

At 64 x 64 pixels, 62 % of the squared length of a network's gradients is in green, and little of it in low frequencies.
An attack with a target takes the last one.
"""
GREY = (((-0.46, 0.87, -0.2), 28), ((0.7, 0.2, -0.65), 20), ((1.0, 1.0, 1.0), KEPT))
"""The same for grey images. A network for them has learned to look at grey, which has a third of all coefficients."""
SMALLEST_START, LARGEST_START, START_GROWTH = 1.0, 20.0, 1.6  # their sizes (L2 of pixels / 255)
STARTS, STARTS_OF_GREY = (18, 18), (9, 3)  # lines along noise for the first point, and how many are tried at each size
START_SHARE = 0.02  # of the queries left, the most that are asked at one size
NEARER = 0.97  # of the distance of the best start, at which the others are tried
PROBES, TOGETHER = 25, 5  # queries between two steps, and between two draws
PROBE = 0.3  # size of a probe, as a share of the distance
LEAST_PROBE = 0.5  # levels (root mean square): rounding would erase smaller ones
ROWS = 250  # answers for which memory is taken at once
KEPT_BELIEF = 0.5  # what counts of the belief after a move as long as the distance
LEAST_SURPRISE = 1e-6  # answers that change the belief by less are left out: tiny numbers are slow
NOISE, OFFSET = 0.3, 1.0  # of the answers, and expected of the point, in units of a probe's move along the normal


class Subspace:
    """The images of low frequencies in some directions of colour, and what a normal is expected to be there.

    `scale` (d,) is the standard deviation of each coefficient, with a mean square of 1.
    """

    def __init__(self, shape, colours, kept):
        colours = np.atleast_2d(colours)
        sizes = np.linalg.norm(colours, axis=1)
        self.colours = colours / sizes[:, np.newaxis]
        self.plane = LowFrequencies((*shape[:2], len(colours)), kept)
        self.coefficients = self.plane.coefficients
        scale = np.broadcast_to(sizes, self.coefficients).ravel()
        self.scale = (scale / np.sqrt(np.mean(scale**2))).astype(np.float32)

    def image_of(self, coefficients):
        """Return the images (..., h, w, c) of coefficients; lengths stay."""
        return self.plane.image_of(coefficients) @ self.colours


class Belief:
    """What is known of the boundary near a point: a Gaussian over its normal and its offset, in d + 1 numbers.

    The point `move` from it is adversarial with probability Phi((normal . move + offset) / NOISE). Assumed density
    filtering of this probit model keeps the belief Gaussian (Minka 2001, section 3.5). A normal that is as long as
    the prior expects has a component of variance 1 along any move of length 1. The covariance is that of the prior less
    `known.T @ known`, with a row for each answer: far fewer numbers than its (d + 1)^2.
    """

    def __init__(self, scale):
        self.scale = scale
        self.prior = np.append(scale**2, np.float32(OFFSET**2))
        self.mean = np.zeros(len(self.prior), np.float32)
        self.known = np.zeros((0, len(self.prior)), np.float32)
        self.rows = np.zeros((ROWS, len(self.prior)), np.float32)  # of which the first are `known`

    def learn(self, move, adversarial):
        """Condition on the answer at `move` (d,) from the point."""
        sign, features = (1.0 if adversarial else -1.0), np.append(move, np.float32(1))
        spread = self.prior * features - (self.known @ features) @ self.known
        variance = max(float(features @ spread), 0.0) + NOISE**2
        z = sign * float(self.mean @ features) / math.sqrt(variance)
        # density over tail of the normal distribution; far out, where both would be 0, it is -z
        ratio = math.sqrt(2 / math.pi) * math.exp(-z * z / 2) / math.erfc(-z / math.sqrt(2)) if z > -20 else -z
        if ratio < LEAST_SURPRISE:
            return
        self.mean += np.float32(sign * ratio / math.sqrt(variance)) * spread
        count = len(self.known)
        if count == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros((ROWS, len(self.prior)), np.float32)])
        self.rows[count] = np.float32(math.sqrt(ratio * (ratio + z) / variance)) * spread
        self.known = self.rows[: count + 1]

    def forget(self, kept):
        """Move to another point: keep a share of what is known of the normal, and nothing of the offset."""
        self.mean *= np.float32(kept)
        self.known *= np.float32(kept)
        self.mean[-1] = self.known[:, -1] = 0

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
    subspaces, starts = subspaces_of(image)
    point, subspace = first_point(model, clean, target, subspaces, starts, rng)
    if point is None:
        return
    belief = Belief(subspace.scale)
    for _ in range(ITERATIONS):
        left, distance = model.queries_left, length(point - clean)
        if distance < 1:
            return
        probe_around(model, point, max(PROBE * distance, LEAST_PROBE * math.sqrt(clean.size)), belief, subspace, rng)
        normal = direction(subspace, belief.mean[:-1])
        moved = search(model, semicircle(clean, point, normal))
        belief.forget(KEPT_BELIEF ** (length(moved - point) / distance))
        point = moved
        if model.queries_left == left:
            return


def subspaces_of(image):
    """Return the subspaces for an image, of which the start chooses one, and the numbers of its lines."""
    if image.shape[2] != len(COLOURS):
        return [Subspace(image.shape, np.eye(image.shape[2]), KEPT)], STARTS
    grey = bool((image == image[..., :1]).all())
    return [Subspace(image.shape, *one) for one in (GREY if grey else PHOTOGRAPH)], STARTS_OF_GREY if grey else STARTS


def probe_around(model, point, size, belief, subspace, rng):
    """Ask about probes at `size` of the point, and change the belief by the answers."""
    for _ in range(0, PROBES, TOGETHER):
        moves = belief.probes(TOGETHER, rng)
        images = point + size * subspace.image_of(moves.reshape(-1, *subspace.coefficients))
        for move, found in zip(moves, model.many(list(images)), strict=True):
            belief.learn(move, model.is_adversarial(found))


def first_point(model, image, target, subspaces, starts, rng):
    """Return a boundary point, or None, and the subspace in which the attack goes on.

    Without a target it lies on the line along noise that reaches the boundary first: the normal is longest in the
    subspace of that noise. Else it is that of other attacks, and the subspace is the last one.
    """
    lines, at_a_size = starts
    at_a_size = max(min(at_a_size, int(START_SHARE * model.queries_left)), len(subspaces))
    draws = [
        (subspace, direction(subspace, rng.standard_normal(len(subspace.scale)) * subspace.scale))
        for subspace in (subspaces * lines)[:lines]
    ]
    best, found = None, subspaces[-1]
    size = SMALLEST_START * 255
    turns = cycle(range(0, lines, at_a_size))
    while target is None and best is None and size < LARGEST_START * 255:
        turn = next(turns)
        for subspace, drawn in draws[turn : turn + at_a_size]:
            if best is None and is_adversarial(model, image + size * drawn):
                best, found = bisect(model, image, image + size * drawn), subspace
        size *= START_GROWTH
    if best is None:
        return starting_point(model, image, target, rng), found
    for subspace, drawn in draws:
        point = image + NEARER * length(best - image) * drawn
        if is_adversarial(model, point):
            best, found = bisect(model, image, point), subspace
    return best, found


def direction(frequencies, coefficients):
    """Return the image of length 1 with these coefficients (d,)."""
    return unit(frequencies.image_of(coefficients.astype(np.float64).reshape(frequencies.coefficients)))


if __name__ == "__main__":
    serve_attack(attack)
