"""Guided boundary filter: the belief about the boundary's normal includes the gradients of surrogates."""

from __future__ import annotations

import math

import numpy as np
from adaptive_ensemble import perturbations, search_line
from boundary_filter import NEARER, Belief, first_point, subspaces_of, walk
from label_steps import bisect, is_adversarial, length, unit
from surrogate_networks import loss_gradient, surrogates_for

from gauntlet import serve_attack

SPREAD = 0.2  # deviation of a gradient's weight in the normal, as a share of the normal's expected length
TRUST = 0.5  # expected weight of a gradient, in its deviations


def attack(model, image, label, *, target, rng):
    """Start on the nearest line, along noise or of surrogates, and walk with the gradients at each point."""
    clean, surrogates = image.astype(np.float64), surrogates_for(image, label, target)
    subspaces, starts = subspaces_of(image)
    point, subspace = first_point(model, clean, target, subspaces, starts, rng)
    point = nearest_on_lines(model, clean, point, perturbations(image, label, target))
    if point is None:
        return
    belief = Belief(subspace.count + len(surrogates))
    belief.mean[subspace.count : -1] = TRUST

    def subspace_at(point):
        gradients = [unit(loss_gradient(surrogate, point, label, target)) for surrogate in surrogates]
        return Extended(subspace, np.array(gradients).reshape(-1, *image.shape))

    walk(model, clean, point, belief, subspace_at, rng)


def nearest_on_lines(model, clean, point, changes):
    """Return the boundary point on the lines along `changes` that is nearer than `point`, or `point`."""
    for change in changes:
        if point is None:
            search_line(model, clean, change)
            point = None if model.best is None else model.best.astype(np.float64)
        elif is_adversarial(model, nearer := clean + NEARER * length(point - clean) * unit(change)):
            point = bisect(model, clean, nearer)
    return point


class Extended:
    """A subspace and directions besides: a normal is the image of the subspace's weights, and then of theirs."""

    def __init__(self, subspace, directions):
        self._subspace = subspace
        self._directions = SPREAD * math.sqrt(subspace.count) * directions
        self.count, self.values = subspace.count + len(directions), subspace.values

    def image_of(self, weights):
        """Return the images (..., h, w, c) of weights (..., count)."""
        own, others = np.split(weights, [self._subspace.count], axis=-1)
        return self._subspace.image_of(own) + np.tensordot(others, self._directions, 1)

    def products_with(self, images):
        """Return the products (..., count) of images with the image of each weight."""
        others = np.tensordot(images, self._directions, ((-3, -2, -1), (1, 2, 3)))
        return np.concatenate([self._subspace.products_with(images), others], axis=-1)


if __name__ == "__main__":
    serve_attack(attack)
