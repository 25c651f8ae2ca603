"""Boundary filter: a Gaussian belief about the boundary's normal, which every answer of the model changes."""

from __future__ import annotations

import math
from itertools import cycle

import numpy as np
from label_steps import (
    ITERATIONS,
    TOLERANCE,
    bisect,
    cosines,
    is_adversarial,
    length,
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
PROBES, MORE, TOGETHER = 25, 1, 5  # queries before the first step, how many more before each other one, and of one draw
PROBE = 0.3  # size of a probe, as a share of the distance
LEAST_PROBE = 0.5  # levels (root mean square of the colours that change): rounding would erase smaller ones
FIRST_SHARE = 0.12  # of a semicircle, where its search begins
ROWS = 250  # answers for which memory is taken at once
KEPT_BELIEF = 0.7  # what counts of the belief after a move as long as the distance
LEAST_SURPRISE = 1e-6  # answers that change the belief by less are left out: tiny numbers are slow
NOISE, OFFSET = 0.3, 0.6  # of the answers, and expected of the point, in units of a probe's move along the normal
TANGENT = 0.1  # expected of the normal along the arc at the point where a search ended, in the same units


class Subspace:
    """The images of low frequencies in some directions of colour, and what a normal is expected to be there.

    A normal is the image of `count` weights, which are expected to be independent standard normal numbers. `values` is
    the number of values of an image that change, where those that change less count less.
    """

    def __init__(self, shape, colours, kept):
        colours = np.atleast_2d(colours)
        sizes = np.linalg.norm(colours, axis=1)
        self._colours = colours / sizes[:, np.newaxis]
        self._rows, self._columns = (cosines(side, kept) for side in shape[:2])
        scale = np.broadcast_to(sizes, (len(self._rows), len(self._columns), len(sizes)))
        self._scale = scale / np.sqrt(np.mean(scale**2))
        self.count = scale.size
        shares = (colours**2).sum(0)
        self.values = shape[0] * shape[1] * shares.sum() ** 2 / (shares**2).sum()

    def image_of(self, weights):
        """Return the images (..., h, w, c) of weights (..., count)."""
        coefficients = weights.reshape(*weights.shape[:-1], *self._scale.shape) * self._scale
        planes = self._rows.T @ np.moveaxis(coefficients, -1, -3) @ self._columns
        return np.moveaxis(planes, -3, -1) @ self._colours

    def products_with(self, images):
        """Return the products (..., count) of images with the image of each weight."""
        planes = self._rows @ np.moveaxis(images @ self._colours.T, -1, -3) @ self._columns.T
        return (np.moveaxis(planes, -3, -1) * self._scale).reshape(*images.shape[:-3], self.count)


class Belief:
    """What is known of the boundary near a point: a Gaussian over the normal's weights and the point's offset.

    The point `move` from it is adversarial with probability Phi((normal . move + offset) / NOISE). Assumed density
    filtering of this probit model keeps the belief Gaussian (Minka 2001, section 3.5). A normal that is as long as
    the prior expects has a component of variance 1 along any move of length 1. The covariance is that of the prior less
    `known.T @ known`, with a row for each answer: far fewer numbers than its square.
    """

    def __init__(self, count):
        self.prior = np.append(np.ones(count, np.float32), np.float32(OFFSET**2))
        self.mean = np.zeros(count + 1, np.float32)
        self.rows = np.zeros((ROWS, count + 1), np.float32)
        self.known = self.rows[:0]  # those that are filled

    def learn(self, products, adversarial):
        """Condition on the answer at a move whose products with the images of the weights are given."""
        sign, features = (1.0 if adversarial else -1.0), np.append(products, 1).astype(np.float32)
        spread, variance = self._spread(features, NOISE)
        z = sign * float(self.mean @ features) / math.sqrt(variance)
        # density over tail of the normal distribution; far out, where both would be 0, it is -z
        ratio = math.sqrt(2 / math.pi) * math.exp(-z * z / 2) / math.erfc(-z / math.sqrt(2)) if z > -20 else -z
        if ratio < LEAST_SURPRISE:
            return
        self.mean += np.float32(sign * ratio / math.sqrt(variance)) * spread
        self._add(np.float32(math.sqrt(ratio * (ratio + z) / variance)) * spread)

    def learn_tangent(self, products):
        """Condition on a tangent of the boundary, a direction along which the normal has no component."""
        features = np.append(products, 0).astype(np.float32)
        spread, variance = self._spread(features, TANGENT)
        self.mean -= np.float32(float(self.mean @ features) / variance) * spread
        self._add(np.float32(1 / math.sqrt(variance)) * spread)

    def _spread(self, features, noise):
        """Return the covariance times the features, and the variance of their product with what is believed in."""
        spread = self.prior * features - (self.known @ features) @ self.known
        return spread, max(float(features @ spread), 0.0) + noise**2

    def _add(self, row):
        count = len(self.known)
        if count == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros((ROWS, len(self.prior)), np.float32)])
        self.rows[count] = row
        self.known = self.rows[: count + 1]

    def forget(self, kept):
        """Move to another point: keep a share of what is known of the normal, and nothing of the offset."""
        self.mean *= np.float32(kept)
        self.known *= np.float32(kept)
        self.mean[-1] = self.known[:, -1] = 0


def attack(model, image, label, *, target, rng):
    """Start on a line along noise, and walk along the boundary until the budget is used up."""
    clean = image.astype(np.float64)
    subspaces, starts = subspaces_of(image)
    point, subspace = first_point(model, clean, target, subspaces, starts, rng)
    if point is not None:
        walk(model, clean, point, Belief(subspace.count), lambda point: subspace, rng)


def walk(model, clean, point, belief, subspace_at, rng):
    """Probe around the point, change the belief, and step along a semicircle, until the budget is used up.

    As far as the boundary is flat, a search ends at its nearest point to the image in the plane of the semicircle. The
    normal has no component there at a right angle to the line to the image. A belief that did not learn this would
    step on along the last step, which gains nothing.
    """
    before = None
    for turn in range(ITERATIONS):
        left, distance, subspace = model.queries_left, length(point - clean), subspace_at(point)
        if distance < 1:
            return
        if before is not None:
            along = unit(point - clean)
            belief.learn_tangent(subspace.products_with(unit(before - clean - np.vdot(before - clean, along) * along)))
        size = max(PROBE * distance, LEAST_PROBE * math.sqrt(subspace.values))
        for _ in range(0, PROBES + MORE * turn, TOGETHER):
            ask(model, point, size, probes(belief, subspace, TOGETHER, rng), belief, subspace)
        moved = search(model, semicircle(clean, point, subspace.image_of(belief.mean[:-1].astype(np.float64))))
        belief.forget(KEPT_BELIEF ** (length(moved - point) / distance))
        before, point = point, moved
        if model.queries_left == left:
            return


def probes(belief, subspace, count, rng):
    """Return moves (count, h, w, c) of a length near 1 where both answers are as likely, as far as is known."""
    drawn = subspace.image_of(rng.standard_normal((count, subspace.count)))
    drawn /= np.sqrt((drawn**2).sum((1, 2, 3), keepdims=True))
    weights, offset = belief.mean[:-1].astype(np.float64), belief.mean[-1]
    normal = subspace.image_of(weights)
    square = (normal**2).sum()
    if square:
        excess = (subspace.products_with(drawn) @ weights + offset) / square
        limit = 1 / math.sqrt(square)
        drawn -= np.clip(excess, -limit, limit)[:, np.newaxis, np.newaxis, np.newaxis] * normal
    return drawn


def ask(model, point, size, moves, belief, subspace):
    """Ask about the whole-level images nearest to moves from the point, and change the belief by the answers."""
    images = np.clip(np.rint(point + size * moves), 0, 255)
    products = subspace.products_with((images - point) / size)
    for product, found in zip(products, model.many(list(images)), strict=True):
        belief.learn(product, model.is_adversarial(found))


def search(model, curve):
    """Return the point of `curve` (0 to 1) before the boundary, given that it is adversarial at 0 and not at 1.

    Most steps are short: it begins at FIRST_SHARE, and doubles it while that is adversarial.
    """
    low, high = 0.0, FIRST_SHARE
    while high < 1 and is_adversarial(model, curve(high)):
        low, high = high, 2 * high
    high = min(high, 1.0)
    while high - low > TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if is_adversarial(model, curve(middle)) else (low, middle)
    return curve(low)


def subspaces_of(image):
    """Return the subspaces for an image, of which the start chooses one, and the numbers of its lines."""
    if image.shape[2] != len(COLOURS):
        return [Subspace(image.shape, np.eye(image.shape[2]), KEPT)], STARTS
    grey = bool((image == image[..., :1]).all())
    return [Subspace(image.shape, *one) for one in (GREY if grey else PHOTOGRAPH)], STARTS_OF_GREY if grey else STARTS


def first_point(model, image, target, subspaces, starts, rng):
    """Return a boundary point, or None, and the subspace in which the attack goes on.

    Without a target it lies on the line along noise that reaches the boundary first: the normal is longest in the
    subspace of that noise. Else it is that of other attacks, and the subspace is the last one.
    """
    lines, at_a_size = starts
    at_a_size = max(min(at_a_size, int(START_SHARE * model.queries_left)), len(subspaces))
    draws = [
        (subspace, unit(subspace.image_of(rng.standard_normal(subspace.count))))
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


if __name__ == "__main__":
    serve_attack(attack)
