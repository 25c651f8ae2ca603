"""The rules of a competition: their format, and the rules that only the site applies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from competitions.formats import competition_formats
from competitions.rules_reader import RefusedRule, Rules
from competitions.toml_fields import Errors
from core.errors import Refusal, refuse_all

LEAST_ACCURACY = "least_accuracy"
"""Name of the clean accuracy that a submission needs in the smoke test; not a rule of the engine."""

COUNTING_SUBMISSION = "counting_submission"
"""Name of the rule which submission of a team counts; not a rule of the engine, and not one of every format."""

NEWEST, CHOSEN = "newest", "chosen"
"""Its values: the newest one, or the one that the team chose, which is the newest until it chooses."""


def format_of(values: Mapping[str, Any]) -> str:
    """Return the name of the format of rules with `values`; without one they are of the format of the settings.

    Raise `Refusal` for an unknown one.
    """
    name = values.get("format", settings.DEFAULT_FORMAT)
    if not isinstance(name, str) or name not in competition_formats:
        raise Refusal(f"the rule format is {name!r}", fix=f"use one of: {', '.join(competition_formats)}")
    return name


def known_values(format_name: str) -> frozenset[str]:
    """Return the names of all values that rules of a format can set."""
    return competition_formats[format_name].rules.names


def check_rules(values: Mapping[str, Any]) -> None:
    """Raise `Refusal` naming all unknown or invalid values."""
    format_of(values)
    errors = Errors()
    for read in (lambda: rules_of(values, 1), lambda: least_accuracy(values), lambda: teams_may_choose(values)):
        with errors.collected():
            read()
    if errors:
        refuse_all(errors)


def rules_of(values: Mapping[str, Any], version: int) -> Rules:
    """Return the rules for `values` as the engine takes them; a missing value has the default of its format.

    Raise `Refusal` naming an unknown or invalid value. Of a stored version, use `RulesVersion.engine_rules`.
    """
    return competition_formats[format_of(values)].rules.read(values, version)


def least_accuracy(values: Mapping[str, Any]) -> float:
    """Return the clean accuracy that a submission needs in the smoke test, 0 to 1."""
    default = competition_formats[format_of(values)].rules.site_values[LEAST_ACCURACY]
    value = values.get(LEAST_ACCURACY, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise RefusedRule(LEAST_ACCURACY, f"{LEAST_ACCURACY} is {value!r}", fix="give a number from 0 to 1")
    return float(value)


def teams_may_choose(values: Mapping[str, Any]) -> bool:
    """Return whether a team may choose which of its submissions counts; otherwise its newest one does."""
    value = values.get(COUNTING_SUBMISSION, NEWEST)
    if value not in (NEWEST, CHOSEN):
        problem = f"the rule {COUNTING_SUBMISSION} is {value!r}"
        raise RefusedRule(COUNTING_SUBMISSION, problem, fix=f"write {NEWEST!r} or {CHOSEN!r}")
    return bool(value == CHOSEN)
