"""Biased Boundary Attack (Brunner et al. 2019): Perlin noise and gradients of surrogates in place of normal noise."""

from __future__ import annotations

import numpy as np
import torch
from foolbox import PyTorchModel
from foolbox.attacks import L2ProjectedGradientDescentAttack
from foolbox.criteria import Misclassification, TargetedMisclassification
from label_steps import ITERATIONS, bisect, is_adversarial, length, starting_point, unit
from network import as_input
from surrogate_networks import loss_gradient, surrogates_for

from gauntlet import serve_attack

START_SIZES = (0.25, 0.5, 1, 2, 4, 8, 16)  # of the balls (L2) of gradient descent on surrogates, for a first image
START_STEPS = 10
CANDIDATES = 50  # at one point; after so many without success, steps are large again
SOURCE_STEP = SPHERICAL_STEP = 0.01  # shares of the distance
SMALLEST_SCALE = 0.3  # of the steps: they shrink from 1.3 to 0.3 of these shares
CELLS = 5  # of Perlin noise, along each axis
GRADIENT_SHARE = 0.5  # of a step, in every second candidate from FIRST_WITH_GRADIENT on
FIRST_WITH_GRADIENT = 2
TOWARDS, AROUND = 0.002, 0.01  # where the gradient is taken: shares of the distance towards the image, and at random
JITTER_AT, PIXELS_FROM = 35, 45  # candidates that change a grid of pixels, and single values
JITTER_PERIOD, JITTER_STEP = 5, 0.005


def attack(model, image, label, *, target, rng):
    """Walk along the boundary towards the image until the budget is used up."""
    clean, surrogates = image.astype(np.float64), surrogates_for(image, label, target)
    point = first_point(model, image, surrogates, label, target, rng)
    if point is None:
        return
    for _ in range(ITERATIONS):
        left, distance = model.queries_left, length(point - clean)
        if distance < 1:
            return

        def gradient(point=point, distance=distance):
            inside = point + TOWARDS * (clean - point)
            inside = inside + rng.uniform(0, AROUND * distance) * unit(rng.standard_normal(clean.shape))
            return loss_gradient(surrogates[rng.integers(len(surrogates))], inside, label, target)

        for number in range(CANDIDATES):
            moved = candidate(clean, point, number, gradient if surrogates else None, rng)
            if length(moved - clean) < distance and is_adversarial(model, moved):
                point = moved
                break
        if model.queries_left == left:
            return


def first_point(model, image, surrogates, label, target, rng):
    """Return the boundary point on the line to what transfers from a surrogate, else to a far point, or None.

    With a target it is the nearer one of both: images of the class may be nearer than what transfers.
    """
    clean = image.astype(np.float64)
    point = transferred(model, image, surrogates, label, target)
    if point is not None and target is None:
        return point
    found = [one for one in (point, starting_point(model, clean, target, rng)) if one is not None]
    return min(found, key=lambda one: length(one - clean), default=None)


def transferred(model, image, surrogates, label, target):
    """Return the boundary point on the line to the first adversarial of a surrogate that the model takes, or None."""
    images, clean = as_input(image[np.newaxis]), image.astype(np.float64)
    criterion = Misclassification if target is None else TargetedMisclassification
    method = L2ProjectedGradientDescentAttack(rel_stepsize=2 / START_STEPS, steps=START_STEPS, random_start=False)
    for size in START_SIZES:
        for surrogate in surrogates:
            bounded = PyTorchModel(surrogate, bounds=(0, 1), device="cpu")
            labels = torch.tensor([label if target is None else target])
            moved = method.run(bounded, images, criterion(labels), epsilon=float(size))
            point = 255 * moved[0].permute(1, 2, 0).double().numpy()
            if is_adversarial(model, point):
                return bisect(model, clean, point)
    return None


def candidate(clean, point, number, gradient, rng):
    """Return the candidate of this number at a point; `gradient` returns one of the surrogates', None without any."""
    if number == JITTER_AT:
        return jittered(clean, point)
    if number >= PIXELS_FROM:
        moved, change = point.copy().ravel(), np.abs(point - clean).ravel()
        place = np.argsort(-change)[min(number - PIXELS_FROM, change.size - 1)]
        moved[place] = clean.ravel()[place]
        return moved.reshape(clean.shape)
    source = unit(clean - point)
    direction = across(perlin_noise(clean.shape, rng), source)
    if gradient is not None and number >= FIRST_WITH_GRADIENT and number % 2 == 0:
        direction = unit((1 - GRADIENT_SHARE) * direction + GRADIENT_SHARE * across(gradient(), source))
    scale = 1 - number / CANDIDATES + SMALLEST_SCALE
    return step(clean, point, direction, scale * SPHERICAL_STEP, scale * SOURCE_STEP)


def across(vector, source):
    """Return the unit vector of what `vector` has at a right angle to `source`."""
    return unit(vector - np.vdot(vector, source) * source)


def step(clean, point, direction, spherical, source):
    """Return the point moved on the sphere around the image by the share `spherical`, then towards it by `source`."""
    distance = length(point - clean)
    return clean + (1 - source) * distance * unit(point - clean + spherical * distance * direction)


def jittered(clean, point):
    """Return the point nearer to the image on a grid of lines, by the smallest share that changes a whole level."""
    rows, columns = (np.arange(side) % JITTER_PERIOD == 0 for side in clean.shape[:2])
    change = (rows[:, np.newaxis] ^ columns)[..., np.newaxis] * (point - clean)
    shares = np.arange(JITTER_STEP, 1, JITTER_STEP)
    moved = (point - share * change for share in shares)
    return next((one for one in moved if (np.rint(one) != np.rint(point)).any()), point)


def perlin_noise(shape, rng):
    """Return Perlin noise (h, w, c): gradients at the corners of a lattice of CELLS cells, mixed smoothly (1985)."""
    places = [np.arange(side) * CELLS / side for side in shape[:2]]
    (row, y), (column, x) = (np.divmod(place, 1) for place in places)
    row, column, y, x = row.astype(int)[:, np.newaxis], column.astype(int), y[:, np.newaxis], x
    corners = np.array([(0, 1), (0, -1), (1, 0), (-1, 0)])[rng.integers(4, size=(CELLS + 1, CELLS + 1, shape[2]))]
    fade_y, fade_x = (6 * t**5 - 15 * t**4 + 10 * t**3 for t in (y, x))
    noise = np.zeros(shape)
    for down in (0, 1):
        for right in (0, 1):
            at = corners[row + down, column + right]  # (h, w, c, 2)
            weight = (fade_y if down else 1 - fade_y) * (fade_x if right else 1 - fade_x)
            slope = at[..., 0] * (y - down)[..., np.newaxis] + at[..., 1] * (x - right)[np.newaxis, :, np.newaxis]
            noise += weight[..., np.newaxis] * slope
    return noise


if __name__ == "__main__":
    serve_attack(attack)
