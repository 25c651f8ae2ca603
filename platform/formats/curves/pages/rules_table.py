"""Table of the rules of the curves format."""

from __future__ import annotations

from django.contrib.humanize.templatetags.humanize import intcomma

from competitions.models import RulesVersion
from core.time_format import duration
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from evaluation.formats.curves.threat_models import Knowledge, Norm
from formats.curves.listed_attacks import attack_title, knowledge_of
from formats.curves.threat_model_boards import ThreatModelOfBoard, threat_models
from formats.curves.threat_model_names import norm_name
from pages.competition.rules_table import RuleRow, clean_accuracy, images


def _title(attack: ListedAttack, rules: CurvesRules) -> str:
    norm = attack.norm
    return ThreatModelOfBoard(knowledge_of(attack).value, attack.goal, norm, rules.budget(norm)).title


def rules_rows(version: RulesVersion) -> list[RuleRow]:
    """Return every rule of a version as text."""
    rules = version.rules_as(CurvesRules)
    norms = [norm for norm in (Norm.LINF, Norm.L2) if any(each.norm is norm for each in rules.attacks)]
    return [
        images(rules.shape, rules.classes),
        *(
            RuleRow(
                "Attack",
                attack_title(each.name),
                f"{_title(each, rules)}; "
                + (
                    f"{intcomma(each.queries)} iterations"
                    if knowledge_of(each) is Knowledge.WHITE_BOX
                    else f"at most {intcomma(each.queries)} queries for an image"
                ),
            )
            for each in rules.attacks
        ),
        *(
            RuleRow(
                f"Budget in {norm_name(norm)}",
                f"{rules.budget(norm):g}",
                "Of images with values from 0 to 1. Leaderboards compare accuracies at it.",
            )
            for norm in norms
        ),
        RuleRow(
            "Ranking",
            "accuracy at the budget",
            f"Rounds and overviews use the first threat model: {threat_models(rules)[0].title}.",
        ),
        RuleRow("Time to start", duration(rules.setup_seconds), "On the reference machine."),
        RuleRow(
            "Time of a model for an image",
            duration(rules.model_seconds_per_image),
            "On the reference machine.",
        ),
        clean_accuracy(version, ""),
    ]
