"""Evolutionary attack (Brendel et al. 2020, algorithm 3): drawn steps whose distribution adapts to what succeeds."""

from __future__ import annotations

import numpy as np
from label_steps import ITERATIONS, is_adversarial, length, starting_point

from gauntlet import serve_attack

FOREGROUND, SEARCHED = 40 / 64, 10 / 64  # of height and width: what changes, and the grid in which steps are drawn
TOWARDS = 0.01  # share of the distance by which a step approaches the image (mu), at first
SIZE = 0.03  # of a drawn step, as a share of the distance (sigma)
TRIALS, SUCCESS = 30, 1 / 5  # trials between changes of mu, and the share of successes that leaves it as it is
PATH, COVARIANCE = 0.01, 0.001  # rates of the evolution path and of the covariance (c_c and c_cov)


def attack(model, image, label, *, target, rng):
    """Draw steps near the best point, and adapt their distribution, until the budget is used up."""
    clean = image.astype(np.float64)
    point = starting_point(model, clean, target, rng)
    if point is None:
        return
    stretch = Stretch(image.shape)
    variances, path = np.ones(stretch.grid), np.zeros(stretch.grid)
    towards, successes = TOWARDS, 0
    for trial in range(1, max(ITERATIONS, model.queries_left) + 1):
        if length(point - clean) < 1:
            return
        drawn = rng.standard_normal(stretch.grid) * np.sqrt(variances)
        moved = step(clean, point, stretch(drawn), towards)
        if is_adversarial(model, moved):
            point, successes = moved, successes + 1
            path = (1 - PATH) * path + np.sqrt(PATH * (2 - PATH)) * drawn
            variances = (1 - COVARIANCE) * variances + COVARIANCE * path**2
        if trial % TRIALS == 0:
            towards, successes = towards * np.exp(successes / TRIALS - SUCCESS), 0


def step(clean, point, drawn, towards):
    """Return the point moved along `drawn`, at 1 - `towards` of its distance to the image."""
    line = point + towards * (clean - point)
    moved = line + SIZE * length(clean - point) / length(drawn) * drawn
    return clean + (moved - clean) * length(line - clean) / length(moved - clean)


class Stretch:
    """Stretches values of a coarse grid over the middle of an image, bilinearly; its border stays zero."""

    def __init__(self, shape):
        self._shape = shape
        sides = [(full, max(1, round(FOREGROUND * full))) for full in shape[:2]]
        self._weights = [weights(side, max(1, round(SEARCHED * full))) for full, side in sides]
        self._middle = tuple(slice((full - side) // 2, (full + side) // 2) for full, side in sides)
        self.grid = (self._weights[0].shape[1], self._weights[1].shape[1], shape[2])

    def __call__(self, drawn):
        """Return the image (h, w, c) of values (grid)."""
        rows, columns = self._weights
        stretched = np.zeros(self._shape)
        stretched[self._middle] = np.moveaxis(rows @ np.moveaxis(drawn, -1, 0) @ columns.T, 0, -1)
        return stretched


def weights(size, coarse):
    """Return the weights (size, coarse) with which linear interpolation mixes `coarse` values into `size` ones."""
    places = np.clip((np.arange(size) + 0.5) * coarse / size - 0.5, 0, coarse - 1)
    return np.maximum(0, 1 - np.abs(places[:, np.newaxis] - np.arange(coarse)))


if __name__ == "__main__":
    serve_attack(attack)
