"""Momentum towards the target class."""

from __future__ import annotations

import sys

from gradient_attack import Method, main

LARGE_EPSILON = 8  # from which the paper attacks more networks, in half of the steps
SMALL = Method(steps=40, step=1 / 40, momentum=1.0, graded=True, weights={"plain": 1, "robust": 2, "frozen-noise": 0})
LARGE = Method(steps=20, step=1 / 20, momentum=1.0, graded=True, weights={"plain": 4, "robust": 4, "frozen-noise": 1})

if __name__ == "__main__":
    method = LARGE if int(sys.argv[3]) >= LARGE_EPSILON else SMALL
    main(method, digits=("plain", "robust", "frozen-noise"), lite=(1, 2), targeted=True)
