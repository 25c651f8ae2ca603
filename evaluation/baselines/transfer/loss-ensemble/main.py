"""Loss ensemble."""

from __future__ import annotations

from gradient_attack import LOSSES, Method, main

METHOD = Method(steps=20, step=0.1, average=LOSSES, enough=0.01)

if __name__ == "__main__":
    main(METHOD, digits=("plain", "robust", "frozen-noise"), lite=(1, 2), targeted=True)
