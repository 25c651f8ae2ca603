"""The rules of a competition of the query format."""

from __future__ import annotations

from competitions.models import RulesVersion
from core.errors import Refusal
from evaluation.formats.query.rules import QueryRules


def query_rules(version: RulesVersion) -> QueryRules:
    """Return the rules of a version as the engine takes them; raise `Refusal` for those of another format."""
    rules = version.engine_rules
    if not isinstance(rules, QueryRules):
        raise Refusal(f"these rules are of the {rules.format} format", fix="use a competition of the query format")
    return rules
