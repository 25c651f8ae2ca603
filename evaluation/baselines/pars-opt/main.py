"""PARS-OPT (Ma et al. 2026): the ray search of Prior-OPT, with Nesterov's momentum and probes of low frequencies."""

from __future__ import annotations

import math

import numpy as np
from biased_boundary import first_point
from label_steps import ITERATIONS, LowFrequencies, is_adversarial, length, normal_at, unit
from prior_opt import FIRST_STRIDE, PROBE, PROBES, across, boundary_on, descend, gradient, prior
from surrogate_networks import surrogates_for

from gauntlet import serve_attack

KEPT = 16  # lowest frequencies of each axis, in which probes are drawn
LARGEST_SHARE = 0.6  # of the squared gradient that lies along the priors, as it is estimated


def attack(model, image, label, *, target, rng):
    """Turn the ray from the image down the gradient of the boundary's distance until the budget is used up."""
    clean, surrogates = image.astype(np.float64), surrogates_for(image, label, target)
    frequencies = LowFrequencies(image.shape, KEPT)
    point = first_point(model, image, surrogates, label, target, rng)
    if point is None:
        return
    unmeasured = max(1.0, unmeasured_ratio(math.prod(frequencies.coefficients) - len(surrogates)))
    momentum, share, curvature, stride = unit(point - clean), 0.0, 1.0, FIRST_STRIDE
    for _ in range(ITERATIONS):
        distance, left = length(point - clean), model.queries_left
        if distance < 1:
            return
        # 1. the ray between the best one and the momentum, and the boundary on it
        size = step_size(share, unmeasured)
        weight = momentum_weight(size * curvature)
        curvature *= 1 - weight
        ray = unit((1 - weight) * unit(point - clean) + weight * momentum)
        begun = is_adversarial(model, clean + distance * ray)
        ahead = clean + boundary_on(model, clean, ray, distance, begun) * ray
        # 2. the gradient there: what the priors span, and one direction besides
        priors = across(ahead - clean, [prior(surrogate, clean, ahead, label, target) for surrogate in surrogates])
        estimated = normal_at(model, ahead, PROBE * length(ahead - clean), PROBES, frequencies, rng)
        slope = gradient(model, clean, ahead, across(ahead - clean, [*priors, estimated]))
        along_priors = sum((np.vdot(slope, one) * one for one in priors), np.zeros(clean.shape))
        besides = slope - along_priors
        share = known_share(along_priors, besides, unmeasured)
        # 3. down the gradient; the momentum moves by the unbiased estimate of the whole one
        nearest, stride = descend(model, clean, ahead, slope, stride)
        momentum = unit(momentum - size / weight * (along_priors + unmeasured * besides))
        if length(nearest - clean) < distance:
            point = nearest
        else:  # it led away: the momentum begins again
            momentum, curvature = unit(point - clean), 1.0
        if model.queries_left == left:
            return


def unmeasured_ratio(dimensions):
    """Return the squared length of a gradient over that of its estimate from the signs of PROBES probes."""
    return dimensions / (2 / np.pi * (PROBES - 1) + 1)


def known_share(along_priors, besides, unmeasured):
    """Return the estimated share of the squared gradient that lies along the priors (D_t)."""
    along, other = length(along_priors) ** 2, unmeasured * length(besides) ** 2
    return min(along / (along + other), LARGEST_SHARE) if along else 0.0


def step_size(share, unmeasured):
    """Return zeta_t, the size of a step of the momentum that keeps the method's bound, for a curvature of 1."""
    return (share + (1 - share) / unmeasured) / (share + (1 - share) * unmeasured)


def momentum_weight(product):
    """Return alpha_t, the positive root of alpha^2 = (1 - alpha) zeta_t gamma_t, for the product of the last two."""
    return (math.sqrt(product * product + 4 * product) - product) / 2


if __name__ == "__main__":
    serve_attack(attack)
