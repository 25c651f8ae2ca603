"""Step towards the target class."""

from __future__ import annotations

from gradient_attack import Method, main

if __name__ == "__main__":
    main(Method(steps=1, step=1.0), digits=("plain",), lite=(1,), targeted=True)
