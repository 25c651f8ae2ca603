"""Adapter: conversion of a rules version to the engine's rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from core.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.domain.rules import QueryRules

LEAST_ACCURACY = "least_accuracy"
"""Name of the clean accuracy that a model needs in the smoke test; not a rule of the engine."""

COUNTING_SUBMISSION = "counting_submission"
"""Name of the rule which submission of a team counts; not a rule of the engine."""

NEWEST, CHOSEN = "newest", "chosen"
"""Its values: the newest one, or the one that the team chose, which is the newest until it chooses."""

_ENGINE_VALUES = frozenset(field.name for field in fields(QueryRules)) - {"version"}
KNOWN = _ENGINE_VALUES | {LEAST_ACCURACY, COUNTING_SUBMISSION}
"""Names of all values that rules can set."""


def check_rules(values: Mapping[str, Any]) -> None:
    """Raise `Refusal` naming an unknown or invalid value."""
    query_rules(values, 1)
    least_accuracy(values)
    teams_may_choose(values)


def query_rules(values: Mapping[str, Any], version: int) -> QueryRules:
    """Return the rules for `values`; a missing value defaults to AVC 2018.

    Raise `Refusal` naming an unknown or invalid value.
    """
    unknown = set(values) - KNOWN
    if unknown:
        raise Refusal(
            f"unknown rules: {', '.join(sorted(unknown))}",
            fix=f"use only: {', '.join(sorted(KNOWN))}",
        )
    defaults = QueryRules()
    given = {name: value for name, value in values.items() if name in _ENGINE_VALUES}
    for name, value in given.items():
        _check_type(name, value, getattr(defaults, name))
    if "shape" in given:
        given["shape"] = ImageShape(*given["shape"])
    try:
        return QueryRules(**given, version=version)
    except ValueError as error:
        raise Refusal(f"the rules are not valid: {error}", fix="correct the value") from error


def least_accuracy(values: Mapping[str, Any]) -> float:
    """Return the clean accuracy that a model needs in the smoke test, 0 to 1."""
    value = values.get(LEAST_ACCURACY, 0.5)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Refusal(f"{LEAST_ACCURACY} is {value!r}", fix="give a number from 0 to 1")
    return float(value)


def teams_may_choose(values: Mapping[str, Any]) -> bool:
    """Return whether a team may choose which of its submissions counts; otherwise its newest one does."""
    value = values.get(COUNTING_SUBMISSION, NEWEST)
    if value not in (NEWEST, CHOSEN):
        raise Refusal(f"the rule {COUNTING_SUBMISSION} is {value!r}", fix=f"write {NEWEST!r} or {CHOSEN!r}")
    return bool(value == CHOSEN)


def _check_type(name: str, value: Any, example: Any) -> None:
    if isinstance(example, tuple):
        fits = isinstance(value, list | tuple) and len(value) == 3 and all(type(v) is int and v > 0 for v in value)
    elif isinstance(example, float):
        fits = type(value) in {int, float} and 0 < value < math.inf
    elif isinstance(example, int):
        fits = type(value) is int and value > 0
    else:
        fits = value == example if name in {"format", "norm"} else isinstance(value, str)
    if not fits:
        raise Refusal(f"the rule {name} is {value!r}", fix=f"give a value like {example!r}")
