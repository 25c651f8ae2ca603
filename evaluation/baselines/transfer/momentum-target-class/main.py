"""Momentum towards the target class."""

from __future__ import annotations

import sys

from gradient_attack import Method, main

LARGE_EPSILON = 8  # from which half of the steps are enough

if __name__ == "__main__":
    steps = 20 if int(sys.argv[3]) >= LARGE_EPSILON else 40
    method = Method(steps=steps, step=1 / steps, momentum=1.0, graded=True)
    main(method, digits=("plain", "robust", "frozen-noise"), lite=(1, 2), targeted=True)
