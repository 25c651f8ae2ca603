"""Differences between two versions of the rules, value by value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from competitions.models import RulesVersion
from competitions.rules import (
    CHOSEN,
    COUNTING_SUBMISSION,
    LEAST_ACCURACY,
    NEWEST,
    known_values,
    least_accuracy,
    teams_may_choose,
)
from pages.formats import page_formats

SHARED_LABELS = {
    "name": "Name of the rules",
    "format": "Format",
    "norm": "Distance",
    "shape": "Images",
    "classes": "Classes",
    LEAST_ACCURACY: "Clean accuracy in the smoke test",
    COUNTING_SUBMISSION: "Which submission counts",
}
"""Labels of the values of rules in every format."""


@dataclass(frozen=True)
class ValueChange:
    """A value in two versions. `kind` is "changed", "added", "removed" or "unchanged".

    `same_effect`: one version does not set the value, and its default equals the value of the other version.
    """

    name: str
    label: str
    kind: str
    before: str
    after: str
    same_effect: bool = False


def differences(old: RulesVersion, new: RulesVersion) -> Sequence[ValueChange]:
    """Return every value that one of the versions sets: first the differences, then the others, each by name."""
    before, after = _effective(old), _effective(new)
    labels = {**SHARED_LABELS, **page_formats.of(old.competition).rule_labels}
    rows = []
    for name in sorted(old.values.keys() | new.values.keys()):
        kind = _kind(name, old, new)
        rows.append(
            ValueChange(
                name=name,
                label=labels.get(name, name.replace("_", " ")),
                kind=kind,
                before=_words(name, before.get(name)),
                after=_words(name, after.get(name)),
                same_effect=kind in {"added", "removed"} and before.get(name) == after.get(name),
            )
        )
    return sorted(rows, key=lambda row: row.kind == "unchanged")


def _kind(name: str, old: RulesVersion, new: RulesVersion) -> str:
    if name not in old.values:
        return "added"
    if name not in new.values:
        return "removed"
    return "unchanged" if old.values[name] == new.values[name] else "changed"


def _effective(version: RulesVersion) -> dict[str, Any]:
    """Return all values of a version, defaults included."""
    rules = version.engine_rules
    found = rules.as_dict() | {LEAST_ACCURACY: least_accuracy(version.values)}
    if COUNTING_SUBMISSION in known_values(rules.format):
        found[COUNTING_SUBMISSION] = CHOSEN if teams_may_choose(version.values) else NEWEST
    return found


def _words(name: str, value: Any) -> str:
    if isinstance(value, list):
        return (" x " if name == "shape" else ", ").join(_part(each) for each in value)
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _part(value: Any) -> str:
    """Return a value of a list: of a table its values, since their names are those of the file."""
    return " ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
