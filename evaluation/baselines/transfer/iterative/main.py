"""Basic iterative method."""

from __future__ import annotations

from gradient_attack import Method, main

if __name__ == "__main__":
    main(Method(), digits=("plain",), lite=(1,))
