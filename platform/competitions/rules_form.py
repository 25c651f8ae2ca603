"""The form with one field for each rule of a competition's format. What is entered is read by the reader of files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.forms import CharField, Form, HiddenInput, IntegerField
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from competitions.formats import competition_formats
from competitions.models import RulesVersion
from competitions.rules import check_rules
from competitions.rules_changes import changes_of, require_fitting_rules
from competitions.rules_difference import ValueChange, words
from competitions.rules_reader import RefusedRule, RuleKind
from competitions.toml_fields import Errors

MOST_CHARACTERS = 10_000
"""Of a field: a benchmark of many attacks has one line for each."""


class RulesForm(Form):
    """The rules of a competition, beside those of the version in force. An empty field has the default.

    Once the form is valid, `values` are those of a new version.
    """

    seen = IntegerField(widget=HiddenInput)
    """The number of the version that was in force when the form was opened."""

    def __init__(self, version: RulesVersion, data: Mapping[str, Any] | None = None) -> None:
        self._version = version
        self._reader = competition_formats.of(version.competition).rules
        given = version.values
        texts = {name: _text(given[name], self._reader.kind(name)) for name in self._reader.changeable if name in given}
        super().__init__(data, initial={"seen": version.version, **texts})
        self.values: dict[str, Any] = {}
        for name in self._reader.changeable:
            self.fields[name] = self._field(name)

    def _field(self, name: str) -> CharField:
        text, default = self._reader.text(name), words(name, self._reader.default(name))
        kind = self._reader.kind(name)
        in_force = f"In force: {words(name, self._version.values[name])}." if name in self._version.values else ""
        widget: Any = UnfoldAdminTextInputWidget()
        if kind.choices:
            choices = [("", f"the default ({default})"), *((each, each) for each in kind.choices)]
            widget = UnfoldAdminSelectWidget(choices=choices)
        elif kind.columns:
            widget = UnfoldAdminTextareaWidget(attrs={"rows": 5})
            default = f"{default}. One on each line"
        return CharField(
            required=False,
            max_length=MOST_CHARACTERS,
            label=f"{text.label} ({text.unit})" if text.unit else text.label,
            help_text=" ".join(filter(None, [text.meaning, in_force, f"Default, if empty: {default}."])),
            widget=widget,
        )

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if self.errors:
            return cleaned
        fixed = {name: value for name, value in self._version.values.items() if name not in self._reader.changeable}
        entered = {name: self.cleaned_data[name] for name in self._reader.changeable if self.cleaned_data[name]}
        self.values = fixed | {name: self._value(name, text) for name, text in entered.items()}
        errors = Errors()
        with errors.collected():
            check_rules(self.values)
        if not errors:
            with errors.collected():
                require_fitting_rules(self._version.competition, self.values)
        for each in errors:
            rule = each.rule if isinstance(each, RefusedRule) else ""
            self.add_error(rule or None, f"{each.problem}: {each.fix}")
        return cleaned

    def _value(self, name: str, text: str) -> Any:
        return _value(text, self._reader.kind(name), self._reader.default(name))

    def changes(self) -> Sequence[ValueChange]:
        """Return what the values of a valid form change of the version in force."""
        return changes_of(self._version, self.values)


def _text(value: Any, kind: RuleKind) -> str:
    """Return the value of a rule as its field shows it."""
    if kind.columns:
        return "\n".join(", ".join(str(row.get(column, "")) for column in kind.columns) for row in value)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _value(text: str, kind: RuleKind, default: Any) -> Any:
    """Return what is entered as a file would have it. What is no number stays text, which the reader refuses."""
    if kind.columns:
        return [_row(line, kind.columns) for line in text.splitlines() if line.strip()]
    if isinstance(default, list):
        numbers = not isinstance(default[0], str)
        parts = [part.strip() for part in re.split("[,x]" if numbers else ",", text)]
        return [_number(part) for part in parts] if numbers else parts
    return _number(text) if isinstance(default, int | float) else text


def _row(line: str, columns: Sequence[str]) -> dict[str, Any]:
    """Return a table; more parts than columns are part of the last one, which the reader refuses."""
    parts = [part.strip() for part in line.split(",", len(columns) - 1)]
    return {column: _number(part) for column, part in zip(columns, parts, strict=False)}


def _number(text: str) -> int | float | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text
