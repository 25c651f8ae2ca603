"""CGBA (Reza et al. 2023): searches along semicircles, in the subspace of low frequencies."""

from __future__ import annotations

from label_steps import search, semicircle, walking

from gauntlet import serve_attack

FIRST_PROBES = 30
PROBE = 0.2
KEPT = 16  # frequencies of each axis


def step(model, image, point, normal, iteration):
    """Return the boundary point on the semicircle from the point to the image, in the plane of the normal (eq. 7)."""
    return search(model, semicircle(image, point, normal))


attack = walking(step, first_probes=FIRST_PROBES, probe=PROBE, kept=KEPT)

if __name__ == "__main__":
    serve_attack(attack)
