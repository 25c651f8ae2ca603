"""Table of the rules of the query format, and the unit of its distances."""

from __future__ import annotations

import math
from collections.abc import Mapping

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext, gettext_noop

from competitions.models import RulesVersion
from competitions.rules import teams_may_choose
from core.number_format import local
from core.time_format import duration
from formats.query.matches.rules import query_rules
from pages.competition.rules_table import RuleRow, clean_accuracy, images

LABELS: Mapping[str, str] = {
    "query_budget": gettext_noop("Query budget for each sample"),
    "piece_samples": gettext_noop("Samples in a piece"),
    "setup_seconds": gettext_noop("Seconds to set up"),
    "model_seconds_per_image": gettext_noop("Seconds to label an image"),
    "attack_seconds_per_sample": gettext_noop("Seconds to attack a sample"),
    "opponents": gettext_noop("Opponents"),
}
"""Labels of the values of the rules."""


def scale(version: RulesVersion) -> str:
    """Return the unit and the range of distances under a version of the rules."""
    height, width, channels = query_rules(version).shape
    largest = math.sqrt(height * width * channels)
    return gettext("L2 of pixels / 255, from 0 to %(largest)s for images of %(shape)s") % {
        "largest": local(f"{largest:.2f}"),
        "shape": f"{height} x {width} x {channels}",
    }


def rules_rows(version: RulesVersion) -> list[RuleRow]:
    """Return every rule of a version as text. Values that it does not set are those of 2018."""
    rules = query_rules(version)
    machine = gettext("On the reference machine.")
    return [
        images(rules.shape, rules.classes),
        RuleRow(
            gettext("Distance"),
            gettext("L2 over pixels / 255"),
            gettext("Measured by the referee on the bytes that it forwarded."),
        ),
        RuleRow(
            gettext("Query budget"),
            gettext("%(count)s for each sample") % {"count": intcomma(rules.query_budget)},
            gettext("Strict. Each sample has its own budget."),
        ),
        RuleRow(
            gettext("No adversarial found"),
            gettext("distance to the grey image"),
            gettext("Also after a crash. This is the largest distance."),
        ),
        RuleRow(gettext("Model wrong on the clean image"), gettext("distance 0")),
        RuleRow(gettext("Time to label an image"), duration(rules.model_seconds_per_image), machine),
        RuleRow(gettext("Time to attack a sample"), duration(rules.attack_seconds_per_sample), machine),
        RuleRow(gettext("Time to set up"), duration(rules.setup_seconds)),
        RuleRow(
            gettext("Opponents"),
            gettext("the %(count)s in the pool of the other side") % {"count": rules.opponents},
        ),
        RuleRow(gettext("Samples in a piece"), f"{rules.piece_samples}"),
        clean_accuracy(version, gettext("Models only.")),
        RuleRow(
            gettext("Which submission counts"),
            gettext("the newest one, unless the team chooses another")
            if teams_may_choose(version.values)
            else gettext("the newest one"),
            gettext("Of each team and track."),
        ),
    ]
