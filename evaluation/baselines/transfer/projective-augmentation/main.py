"""Projective augmentation."""

from __future__ import annotations

from gradient_attack import LOSSES, Method, main

DEVIATION = 0.02
PLAN = (
    # steps, step, noise, draws
    (2, 1.0, 0.2, 2),
    (7, 0.5, 0.2, 2),
    (2, 0.2, 0.1, 2),
    (2, 0.1, 0.1, 1),
    (6, 0.1, 0.04, 1),
)
PHASES = [
    Method(steps=steps, step=step, noise=noise, draws=draws, projective=DEVIATION, average=LOSSES)
    for steps, step, noise, draws in PLAN
]

if __name__ == "__main__":
    main(*PHASES, digits=("plain", "robust", "frozen-noise"), lite=(1, 2))
