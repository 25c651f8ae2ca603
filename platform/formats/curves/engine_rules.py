"""The rules of a competition of the curves format."""

from __future__ import annotations

from competitions.models import RulesVersion
from core.errors import Refusal
from evaluation.formats.curves.rules import CurvesRules


def curves_rules(version: RulesVersion) -> CurvesRules:
    """Return the rules of a version as the engine takes them; raise `Refusal` for those of another format."""
    rules = version.engine_rules
    if not isinstance(rules, CurvesRules):
        raise Refusal(f"these rules are of the {rules.format} format", fix="use a competition of the curves format")
    return rules
