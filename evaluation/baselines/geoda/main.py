"""GeoDA (Rahmati et al. 2020) for L2, in the subspace of low frequencies."""

from __future__ import annotations

from label_steps import bisect, is_adversarial, length, walking

from gauntlet import serve_attack

FIRST_PROBES = 80
PROBE = 0.2
KEPT = 16  # frequencies of each axis


def step(model, image, point, normal, iteration):
    """Go from the image along the normal to the boundary (equation 17); stay where that is farther away."""
    moved = image + length(point - image) * normal
    return bisect(model, image, moved) if is_adversarial(model, moved) else point


attack = walking(step, first_probes=FIRST_PROBES, probe=PROBE, kept=KEPT)

if __name__ == "__main__":
    serve_attack(attack)
