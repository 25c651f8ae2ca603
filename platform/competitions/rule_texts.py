"""What rules are called and mean, for the people who read or change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RuleText:
    """The text about a rule: its label, its meaning in one sentence, and the unit of its value, "" for none."""

    label: str
    meaning: str
    unit: str = ""


SHARED_TEXTS: Mapping[str, RuleText] = {
    "name": RuleText("Name of the rules", "What results and bundles call these rules."),
    "format": RuleText("Format", "How attacks and models meet."),
    "norm": RuleText("Distance", "How far a changed image is from the clean one."),
    "shape": RuleText(
        "Images", "The shape of every image, which is that of the sample sets.", "height, width, channels"
    ),
    "classes": RuleText("Classes", "The number of classes, which is that of the sample sets."),
    "least_accuracy": RuleText(
        "Clean accuracy in the smoke test",
        "The least share of clean images that a classifier labels right, or its submission is rejected.",
        "0 to 1",
    ),
    "counting_submission": RuleText(
        "Which submission counts",
        "Whether the newest submission of a team counts, or the one that it chose.",
    ),
}
"""The texts of the rules of every format, by the name of the rule; a format has those of its own."""
