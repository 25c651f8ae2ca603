"""Table of the rules of the query format, and the unit of its distances."""

from __future__ import annotations

import math

from django.contrib.humanize.templatetags.humanize import intcomma

from competitions.models import RulesVersion
from competitions.rules import teams_may_choose
from core.time_format import duration
from evaluation.formats.query.rules import QueryRules
from pages.competition.rules_table import RuleRow, clean_accuracy, images


def scale(version: RulesVersion) -> str:
    """Return the unit and the range of distances under a version of the rules."""
    height, width, channels = version.rules_as(QueryRules).shape
    largest = math.sqrt(height * width * channels)
    return f"L2 of pixels / 255, from 0 to {largest:.2f} for images of {height} x {width} x {channels}"


def rules_rows(version: RulesVersion) -> list[RuleRow]:
    """Return every rule of a version as text. Values that it does not set are those of 2018."""
    rules = version.rules_as(QueryRules)
    machine = "On the reference machine."
    return [
        images(rules.shape, rules.classes),
        RuleRow(
            "Distance",
            "L2 over pixels / 255",
            "Measured by the referee on the bytes that it forwarded.",
        ),
        RuleRow(
            "Query budget",
            f"{intcomma(rules.query_budget)} for each sample",
            "Strict. Each sample has its own budget.",
        ),
        RuleRow(
            "No adversarial found",
            "distance to the grey image",
            "Also after a crash. This is the largest distance.",
        ),
        RuleRow("Model wrong on the clean image", "distance 0"),
        RuleRow("Time to label an image", duration(rules.model_seconds_per_image), machine),
        RuleRow("Time to attack a sample", duration(rules.attack_seconds_per_sample), machine),
        RuleRow("Time to set up", duration(rules.setup_seconds)),
        RuleRow("Opponents", "the pool of the other side", f"At most {rules.opponents}."),
        RuleRow("Samples in a piece", f"{rules.piece_samples}"),
        clean_accuracy(version, "Models only."),
        RuleRow(
            "Which submission counts",
            "the newest one, unless the team chooses another" if teams_may_choose(version.values) else "the newest one",
            "Of each team and track.",
        ),
    ]
