"""Table of the rules of the transfer format."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext, gettext_noop

from competitions.models import RulesVersion
from core.time_format import duration
from evaluation.formats.transfer.rules import Opponents
from formats.transfer.tournaments.rules import transfer_rules
from pages.competition.rules_table import RuleRow, clean_accuracy, images

LABELS: Mapping[str, str] = {
    "batch_images": gettext_noop("Images in a batch"),
    "batch_seconds": gettext_noop("Seconds for a batch"),
    "epsilons": gettext_noop("Epsilons"),
    "epsilon_order": gettext_noop("Order of the epsilons"),
    "opponents": gettext_noop("Opponents"),
    "result_bytes": gettext_noop("Bytes of a result file"),
}
"""Labels of the values of the rules."""


def rules_rows(version: RulesVersion) -> list[RuleRow]:
    """Return every rule of a version as text. Values that it does not set are those of 2017."""
    rules = transfer_rules(version)
    counted = {
        Opponents.COVERAGE: gettext("Each is weighted by the share of the images that it processed."),
        Opponents.COMPLETE: gettext("Only those that processed every image count, as in 2017."),
    }
    return [
        images(rules.shape, rules.classes),
        RuleRow(
            gettext("Largest change of a value"),
            gettext("epsilon %(epsilons)s") % {"epsilons": ", ".join(str(each) for each in rules.epsilons)},
            gettext("Drawn for each batch. Larger changes are clipped.")
            if rules.epsilon_order == "drawn"
            else gettext("One for each batch, in turn. Larger changes are clipped."),
        ),
        RuleRow(
            gettext("Queries"), gettext("none"), gettext("Attacks do not see defences, and defences no clean image.")
        ),
        RuleRow(gettext("Images in a batch"), gettext("at most %(count)s") % {"count": intcomma(rules.batch_images)}),
        RuleRow(
            gettext("Time for a batch"),
            duration(rules.batch_seconds),
            gettext("On the reference machine. What was written before the limit counts."),
        ),
        RuleRow(
            gettext("Result file of a defence"),
            gettext("at most %(count)s bytes") % {"count": intcomma(rules.result_bytes)},
            gettext("A larger one is ignored."),
        ),
        RuleRow(
            gettext("Classes in files"),
            gettext("counted from 1"),
            gettext("In target_class.csv and in the result file of a defence."),
        ),
        RuleRow(gettext("Opponents"), gettext("all of the other side"), counted[rules.opponents]),
        clean_accuracy(version, gettext("Defences only.")),
    ]
