"""The rules of the game as rows that people read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from competitions.models import RulesVersion
from competitions.rules import least_accuracy, query_rules
from pages.templatetags.gauntlet import duration


@dataclass(frozen=True)
class RuleRow:
    """One rule, its value, and what follows from it."""

    name: str
    value: str
    note: str = ""


def scale(version: RulesVersion) -> str:
    """The unit of distances under a version of the rules, and how large they can be."""
    height, width, channels = query_rules(version.values, version.version).shape
    largest = math.sqrt(height * width * channels)
    return f"L2 of pixels / 255, from 0 to {largest:.2f} for images of {height} x {width} x {channels}"


def rows(version: RulesVersion) -> list[RuleRow]:
    """Every rule of a version in words. Values that it leaves out are those of the competition of 2018."""
    rules = query_rules(version.values, version.version)
    height, width, channels = rules.shape
    return [
        RuleRow("Images", f"{height} x {width} x {channels}, {rules.classes} classes", "Whole numbers from 0 to 255."),
        RuleRow("Distance", "L2 over pixels / 255", "Measured by the referee from the bytes that it forwarded."),
        RuleRow("Query budget", f"{rules.query_budget:,} for each sample", "Strict. Other samples keep theirs."),
        RuleRow(
            "No adversarial found", "distance to the grey image", "Also after a crash, and the most a sample counts."
        ),
        RuleRow("Model wrong on the clean image", "distance 0"),
        RuleRow("Time to label an image", duration(rules.model_seconds_per_image), "On the reference machine."),
        RuleRow("Time to attack a sample", duration(rules.attack_seconds_per_sample), "On the reference machine."),
        RuleRow("Time to set up", duration(rules.setup_seconds)),
        RuleRow("Opponents", f"the {rules.opponents} in the pool of the other side"),
        RuleRow("Samples played at once", f"{rules.piece_samples}"),
        RuleRow("Clean accuracy in the smoke stage", f"at least {least_accuracy(version.values):.0%}", "Models only."),
    ]
