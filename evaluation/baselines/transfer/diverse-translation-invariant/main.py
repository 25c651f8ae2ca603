"""Diverse and translation-invariant inputs."""

from __future__ import annotations

from gradient_attack import Method, main

if __name__ == "__main__":
    main(Method(step=0.1, momentum=1.0, diverse=0.5, kernel=7), digits=("plain", "robust", "frozen-noise"), lite=(1, 2))
