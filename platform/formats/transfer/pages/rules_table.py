"""Table of the rules of the transfer format."""

from __future__ import annotations

from django.contrib.humanize.templatetags.humanize import intcomma

from competitions.models import RulesVersion
from core.time_format import duration
from evaluation.formats.transfer.rules import Opponents, TransferRules
from pages.competition.rules_table import RuleRow, clean_accuracy, images


def rules_rows(version: RulesVersion) -> list[RuleRow]:
    """Return every rule of a version as text. Values that it does not set are those of 2017."""
    rules = version.rules_as(TransferRules)
    counted = {
        Opponents.COVERAGE: "Each is weighted by the share of the images that it processed.",
        Opponents.COMPLETE: "Only those that processed every image count, as in 2017.",
    }
    return [
        images(rules.shape, rules.classes),
        RuleRow(
            "Largest change of a value",
            f"epsilon {', '.join(str(each) for each in rules.epsilons)}",
            "Drawn for each batch. Larger changes are clipped."
            if rules.epsilon_order == "drawn"
            else "One for each batch, in turn. Larger changes are clipped.",
        ),
        RuleRow("Queries", "none", "Attacks do not see defences, and defences no clean image."),
        RuleRow("Images in a batch", f"at most {intcomma(rules.batch_images)}"),
        RuleRow(
            "Time for a batch",
            duration(rules.batch_seconds),
            "On the reference machine. What was written before the limit counts.",
        ),
        RuleRow(
            "Result file of a defence",
            f"at most {intcomma(rules.result_bytes)} bytes",
            "A larger one is ignored.",
        ),
        RuleRow(
            "Classes in files",
            "counted from 1",
            "In target_class.csv and in the result file of a defence.",
        ),
        RuleRow("Opponents", "all of the other side", counted[rules.opponents]),
        clean_accuracy(version, "Defences only."),
    ]
