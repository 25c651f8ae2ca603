"""Adapter: conversion of a rules version to the engine's rules, those of one format."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from core.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.domain.rules import QueryRules
from evaluation.domain.transfer_rules import Opponents, TransferRules

Rules = QueryRules | TransferRules

FORMATS: Mapping[str, type[QueryRules] | type[TransferRules]] = {"query": QueryRules, "transfer": TransferRules}
"""The rules of each format, by its name in a competition's file."""

LEAST_ACCURACY = "least_accuracy"
"""Name of the clean accuracy that a model or a defence needs in the smoke test; not a rule of the engine."""

COUNTING_SUBMISSION = "counting_submission"
"""Name of the rule of the query format which submission of a team counts; not a rule of the engine."""

NEWEST, CHOSEN = "newest", "chosen"
"""Its values: the newest one, or the one that the team chose, which is the newest until it chooses."""

_SITE_VALUES = {"query": {LEAST_ACCURACY, COUNTING_SUBMISSION}, "transfer": {LEAST_ACCURACY}}
"""The rules of the site, by format."""

_LEAST_ACCURACY = {"query": 0.5, "transfer": 0.0}
"""Its defaults: 2018 asked for 0.5, and 2017 for nothing."""

_FIXED = {"format", "norm"}


def format_of(values: Mapping[str, Any]) -> str:
    """Return the name of the format of rules with `values`; without one they are of the query format.

    Raise `Refusal` for an unknown one.
    """
    name = values.get("format", "query")
    if name not in FORMATS:
        raise Refusal(f"the rule format is {name!r}", fix=f"use one of: {', '.join(FORMATS)}")
    return str(name)


def known_values(format_name: str) -> frozenset[str]:
    """Return the names of all values that rules of a format can set."""
    return frozenset(field.name for field in fields(FORMATS[format_name])) - {"version"} | _SITE_VALUES[format_name]


def check_rules(values: Mapping[str, Any]) -> None:
    """Raise `Refusal` naming an unknown or invalid value."""
    rules_of(values, 1)
    least_accuracy(values)
    teams_may_choose(values)


def rules_of(values: Mapping[str, Any], version: int) -> Rules:
    """Return the rules for `values`; a missing value is that of AVC 2018 or, in the transfer format, of NIPS 2017.

    Raise `Refusal` naming an unknown or invalid value.
    """
    name = format_of(values)
    unknown = set(values) - known_values(name)
    if unknown:
        raise Refusal(
            f"unknown rules: {', '.join(sorted(unknown))}", fix=f"use only: {', '.join(sorted(known_values(name)))}"
        )
    make = FORMATS[name]
    defaults = make()
    given = {key: value for key, value in values.items() if key not in _SITE_VALUES[name]}
    for key, value in given.items():
        _check_type(key, value, getattr(defaults, key))
    if "shape" in given:
        given["shape"] = ImageShape(*given["shape"])
    if "epsilons" in given:
        given["epsilons"] = tuple(given["epsilons"])
    try:
        if "opponents" in given and make is TransferRules:
            given["opponents"] = Opponents(given["opponents"])
        return make(**given, version=version)
    except ValueError as error:
        raise Refusal(f"the rules are not valid: {error}", fix="correct the value") from error


def query_rules(values: Mapping[str, Any], version: int) -> QueryRules:
    """Return `rules_of` a competition of the query format. Raise `Refusal` also for another format."""
    rules = rules_of(values, version)
    if not isinstance(rules, QueryRules):
        raise Refusal(f"these rules are of the {rules.format} format", fix="use a competition of the query format")
    return rules


def transfer_rules(values: Mapping[str, Any], version: int) -> TransferRules:
    """Return `rules_of` a competition of the transfer format. Raise `Refusal` also for another format."""
    rules = rules_of(values, version)
    if not isinstance(rules, TransferRules):
        raise Refusal(f"these rules are of the {rules.format} format", fix="use a competition of the transfer format")
    return rules


def least_accuracy(values: Mapping[str, Any]) -> float:
    """Return the clean accuracy that a model or a defence needs in the smoke test, 0 to 1."""
    value = values.get(LEAST_ACCURACY, _LEAST_ACCURACY[format_of(values)])
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
    if name == "epsilons":
        fits = isinstance(value, list | tuple) and bool(value) and all(type(each) is int for each in value)
    elif isinstance(example, tuple):
        fits = isinstance(value, list | tuple) and len(value) == 3 and all(type(v) is int and v > 0 for v in value)
    elif isinstance(example, float):
        fits = type(value) in {int, float} and 0 < value < math.inf
    elif isinstance(example, int):
        fits = type(value) is int and value > 0
    elif name == "epsilon_order":
        fits = value in ("cycled", "drawn")
    elif name == "opponents":
        fits = value in list(Opponents)
    else:
        fits = value == example if name in _FIXED else isinstance(value, str)
    if not fits:
        raise Refusal(f"the rule {name} is {value!r}", fix=f"give a value like {_plain(example)!r}")


def _plain(example: Any) -> Any:
    """Return an example as a file of a competition writes it."""
    if isinstance(example, tuple):
        return list(example)
    return str(example) if isinstance(example, Opponents) else example
