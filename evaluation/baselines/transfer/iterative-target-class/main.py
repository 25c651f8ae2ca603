"""Iterative target class."""

from __future__ import annotations

from gradient_attack import Method, main

if __name__ == "__main__":
    main(Method(steps=20, step=0.1), digits=("plain", "robust", "frozen-noise"), lite=(1, 2), targeted=True)
