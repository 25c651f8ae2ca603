"""Differences between two versions of the rules, value by value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from competitions.formats import competition_formats
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
    before, after = effective(old), effective(new)
    reader = competition_formats.of(old.competition).rules
    rows = []
    for name in sorted(old.values.keys() | new.values.keys()):
        kind = _kind(name, old, new)
        rows.append(
            ValueChange(
                name=name,
                label=reader.text(name).label,
                kind=kind,
                before=words(name, before.get(name)),
                after=words(name, after.get(name)),
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


def effective(version: RulesVersion) -> dict[str, Any]:
    """Return all values of a version, defaults included."""
    rules = version.engine_rules
    found = rules.as_dict() | {LEAST_ACCURACY: least_accuracy(version.values)}
    if COUNTING_SUBMISSION in known_values(rules.format):
        found[COUNTING_SUBMISSION] = CHOSEN if teams_may_choose(version.values) else NEWEST
    return found


def words(name: str, value: Any) -> str:
    """Return the value of a rule as text."""
    if isinstance(value, list):
        return (" x " if name == "shape" else ", ").join(_part(each) for each in value)
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _part(value: Any) -> str:
    """Return a value of a list: of a table its values, since their names are those of the file."""
    return " ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
