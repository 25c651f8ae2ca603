"""Momentum iterative method on an ensemble."""

from __future__ import annotations

from gradient_attack import Method, main

# a quarter for the adversarially trained network (Kurakin et al. 2018, section 5.2)
METHOD = Method(step=0.1, momentum=1.0, weights={"robust": 0.25})

if __name__ == "__main__":
    main(METHOD, digits=("plain", "robust", "frozen-noise"), lite=(1, 2))
