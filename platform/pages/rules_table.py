"""Table of the rules of a competition."""

from __future__ import annotations

import math
from dataclasses import dataclass

from competitions.models import RulesVersion
from competitions.rules import least_accuracy, query_rules
from core.times import duration


@dataclass(frozen=True)
class RuleRow:
    """A rule, its value and a note."""

    name: str
    value: str
    note: str = ""


def scale(version: RulesVersion) -> str:
    """Return the unit and the range of distances under a version of the rules."""
    height, width, channels = query_rules(version.values, version.version).shape
    largest = math.sqrt(height * width * channels)
    return f"L2 of pixels / 255, from 0 to {largest:.2f} for images of {height} x {width} x {channels}"


def rows(version: RulesVersion) -> list[RuleRow]:
    """Return every rule of a version as text. Values that it does not set are those of the 2018 challenge."""
    rules = query_rules(version.values, version.version)
    height, width, channels = rules.shape
    return [
        RuleRow("Images", f"{height} x {width} x {channels}, {rules.classes} classes", "Integers from 0 to 255."),
        RuleRow("Distance", "L2 over pixels / 255", "Measured by the referee on the bytes that it forwarded."),
        RuleRow("Query budget", f"{rules.query_budget:,} for each sample", "Strict. Each sample has its own budget."),
        RuleRow(
            "No adversarial found", "distance to the grey image", "Also after a crash. This is the largest distance."
        ),
        RuleRow("Model wrong on the clean image", "distance 0"),
        RuleRow("Time to label an image", duration(rules.model_seconds_per_image), "On the reference machine."),
        RuleRow("Time to attack a sample", duration(rules.attack_seconds_per_sample), "On the reference machine."),
        RuleRow("Time to set up", duration(rules.setup_seconds)),
        RuleRow("Opponents", f"the {rules.opponents} in the pool of the other side"),
        RuleRow("Samples in a piece", f"{rules.piece_samples}"),
        RuleRow("Clean accuracy in the smoke test", f"at least {least_accuracy(version.values):.0%}", "Models only."),
    ]
