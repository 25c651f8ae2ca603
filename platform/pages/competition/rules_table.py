"""Table of the rules of a competition."""

from __future__ import annotations

from dataclasses import dataclass

from competitions.models import RulesVersion
from competitions.rules import least_accuracy
from evaluation.domain.images import ImageShape


@dataclass(frozen=True)
class RuleRow:
    """A rule, its value and a note."""

    name: str
    value: str
    note: str = ""


def images(shape: ImageShape, classes: int) -> RuleRow:
    """Return the rule about the images."""
    height, width, channels = shape
    return RuleRow(
        "Images",
        f"{height} x {width} x {channels}, {classes} classes",
        "Integers from 0 to 255.",
    )


def clean_accuracy(version: RulesVersion, note: str) -> RuleRow:
    """Return the rule about the clean accuracy in the smoke test; the note says whose."""
    return RuleRow(
        "Clean accuracy in the smoke test",
        f"at least {100 * least_accuracy(version.values):.0f}\u00a0%",
        note,
    )
