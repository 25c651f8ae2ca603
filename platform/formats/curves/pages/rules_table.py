"""Table of the rules of the curves format."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext, gettext_noop

from competitions.models import RulesVersion
from core.number_format import local
from core.time_format import duration
from evaluation.formats.curves.threat_models import Knowledge, Norm
from formats.curves.board import ThreatModelOfBoard, threat_models
from formats.curves.engine_adapter import attack_title, knowledge_of
from formats.curves.rules import curves_rules
from formats.curves.threat_names import norm_name
from pages.competition.rules_table import RuleRow, clean_accuracy, images

LABELS: Mapping[str, str] = {
    "attacks": gettext_noop("Attacks"),
    "budget_linf": gettext_noop("Budget in L-inf"),
    "budget_l2": gettext_noop("Budget in L2"),
    "setup_seconds": gettext_noop("Seconds to start"),
    "model_seconds_per_image": gettext_noop("Seconds of a model for an image"),
}
"""Labels of the values of the rules."""


def rules_rows(version: RulesVersion) -> list[RuleRow]:
    """Return every rule of a version as text."""
    rules = curves_rules(version)
    norms = [norm for norm in (Norm.LINF, Norm.L2) if any(each.norm is norm for each in rules.attacks)]
    return [
        images(rules.shape, rules.classes),
        *(
            RuleRow(
                gettext("Attack"),
                attack_title(each.name),
                (
                    gettext("%(threat_model)s; %(queries)s iterations")
                    if knowledge_of(each) is Knowledge.WHITE_BOX
                    else gettext("%(threat_model)s; at most %(queries)s queries for an image")
                )
                % {
                    "threat_model": ThreatModelOfBoard(
                        knowledge_of(each).value, each.goal, each.norm, rules.budget(each.norm)
                    ).title,
                    "queries": intcomma(each.queries),
                },
            )
            for each in rules.attacks
        ),
        *(
            RuleRow(
                gettext("Budget in %(norm)s") % {"norm": norm_name(norm)},
                local(f"{rules.budget(norm):g}"),
                gettext("Of images with values from 0 to 1. Leaderboards compare accuracies at it."),
            )
            for norm in norms
        ),
        RuleRow(
            gettext("Ranking"),
            gettext("accuracy at the budget"),
            gettext("Rounds and overviews use the first threat model: %(threat_model)s.")
            % {"threat_model": threat_models(rules)[0].title},
        ),
        RuleRow(gettext("Time to start"), duration(rules.setup_seconds), gettext("On the reference machine.")),
        RuleRow(
            gettext("Time of a model for an image"),
            duration(rules.model_seconds_per_image),
            gettext("On the reference machine."),
        ),
        clean_accuracy(version, ""),
    ]
