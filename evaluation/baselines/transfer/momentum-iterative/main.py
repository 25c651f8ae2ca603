"""Momentum iterative method on an ensemble."""

from __future__ import annotations

from gradient_attack import Method, main

if __name__ == "__main__":
    main(Method(step=0.1, momentum=1.0), digits=("plain", "robust", "frozen-noise"), lite=(1, 2))
