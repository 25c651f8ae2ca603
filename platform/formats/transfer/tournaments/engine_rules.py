"""The rules of a competition of the transfer format."""

from __future__ import annotations

from competitions.models import RulesVersion
from core.errors import Refusal
from evaluation.formats.transfer.rules import TransferRules


def transfer_rules(version: RulesVersion) -> TransferRules:
    """Return the rules of a version as the engine takes them; raise `Refusal` for those of another format."""
    rules = version.engine_rules
    if not isinstance(rules, TransferRules):
        raise Refusal(f"these rules are of the {rules.format} format", fix="use a competition of the transfer format")
    return rules
