"""Adapter: a version of the rules, as the engine reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from core.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.domain.rules import QueryRules

LEAST_ACCURACY = "least_accuracy"
"""The clean accuracy that a model needs in the smoke stage: a value beside those of the engine."""

_ENGINE_VALUES = frozenset(field.name for field in fields(QueryRules)) - {"version"}
KNOWN = _ENGINE_VALUES | {LEAST_ACCURACY}
"""Names of all values that rules may give."""


def query_rules(values: Mapping[str, Any], version: int) -> QueryRules:
    """The rules that `values` give; what is left out has the value of AVC 2018.

    Raises `Refusal` naming the value that is unknown or cannot be.
    """
    unknown = set(values) - KNOWN
    if unknown:
        raise Refusal(
            f"unknown rules: {', '.join(sorted(unknown))}",
            fix=f"known are: {', '.join(sorted(KNOWN))}",
        )
    plain = QueryRules()
    given = {name: value for name, value in values.items() if name in _ENGINE_VALUES}
    for name, value in given.items():
        _check_type(name, value, getattr(plain, name))
    if "shape" in given:
        given["shape"] = ImageShape(*given["shape"])
    try:
        return QueryRules(**given, version=version)
    except ValueError as error:
        raise Refusal(f"the rules cannot be: {error}", fix="correct the value") from error


def least_accuracy(values: Mapping[str, Any]) -> float:
    """The clean accuracy that a model needs in the smoke stage, 0 to 1."""
    value = values.get(LEAST_ACCURACY, 0.5)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Refusal(f"{LEAST_ACCURACY} is {value!r}", fix="give a number from 0 to 1")
    return float(value)


def _check_type(name: str, value: Any, example: Any) -> None:
    if isinstance(example, tuple):
        fits = isinstance(value, list | tuple) and len(value) == 3 and all(type(v) is int and v > 0 for v in value)
    elif isinstance(example, float):
        fits = type(value) in {int, float} and value > 0
    elif isinstance(example, int):
        fits = type(value) is int and value > 0
    else:
        fits = value == example if name in {"format", "norm"} else isinstance(value, str)
    if not fits:
        raise Refusal(f"the rule {name} is {value!r}", fix=f"give a value like {example!r}")
