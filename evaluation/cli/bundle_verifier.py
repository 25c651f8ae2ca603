"""What verifies the bundles of each format. It imports that format alone, and nothing that plays."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluation.bundle.signature_check import Report


def verifier_of(name: str) -> Callable[..., Report]:
    """Return what verifies the bundles of a format; see `evaluation.formats.query.bundle.verify.verify`."""
    verify: Callable[..., Report] = import_module(f"evaluation.formats.{name}.bundle.verify").verify
    return verify
