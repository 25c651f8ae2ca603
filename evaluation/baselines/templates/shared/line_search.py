"""Queries: the closest image along a direction that the model gets wrong."""

from __future__ import annotations

import numpy as np

SIZES = np.geomspace(0.3, 60, 28)
"""L2 distances along the direction, smallest first."""
BISECTIONS = 12


def search_line(model, clean, change):
    """Look for an adversarial along `change`. The referee keeps the closest one it has seen."""
    unit = 255 * change / max(float(np.linalg.norm(change)), 1e-12)
    low = 0.0
    for high in SIZES:
        if model.is_adversarial(model(clean + high * unit)):
            for _ in range(BISECTIONS):
                middle = (low + high) / 2
                if model.is_adversarial(model(clean + middle * unit)):
                    high = middle
                else:
                    low = middle
            return
        low = high
