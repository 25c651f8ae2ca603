"""What the import of a competition's file would make or change, before anything is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounts.models import RESERVED_SLUGS
from competitions import competition_file_reader as file
from competitions.freeze_windows import check_free, is_known
from competitions.models import Competition, FreezeWindow
from competitions.rules_changes import require_fitting_rules
from competitions.services import check_sample_set, export_competition, state_of
from competitions.toml_fields import Errors
from core.errors import Refusal, refuse_all
from core.time_format import in_words

MOST_SHOWN = 200
"""Number of characters of a value that are shown."""


@dataclass(frozen=True)
class FileChange:
    """A value that the import makes or changes: its place in the file, and what it is before and after.

    `before` is "" where there is none.
    """

    place: str
    before: str
    after: str


@dataclass(frozen=True)
class ImportPreview:
    """What an import does: `seen` is the state of the competition that it was computed from."""

    slug: str
    title: str
    is_new: bool
    changes: tuple[FileChange, ...]
    seen: str


def preview(document: Mapping[str, Any]) -> ImportPreview:
    """Return what the import of a parsed file does. Raise `Refusal` naming the places of all errors and the fixes.

    Images and the directories of baselines are read by the import alone.
    """
    read = file.read(document)
    competition = Competition.objects.filter(slug=read.slug).first()
    seen = state_of(read.slug)
    _check(read, competition)
    before = export_competition(competition) if competition else {}
    return ImportPreview(
        slug=read.slug,
        title=read.about["title"],
        is_new=competition is None,
        changes=tuple(_changes(read, competition, before)),
        seen=seen,
    )


def _check(read: file.Document, competition: Competition | None) -> None:
    """Raise `Refusal` naming all that does not fit the competition as it is, or the site."""
    errors = Errors()
    if competition is None:
        if read.slug in RESERVED_SLUGS:
            errors.append(Refusal(f"[competition] slug: {read.slug!r} is reserved", fix="choose another slug"))
    else:
        with errors.collected():
            require_fitting_rules(competition, read.rules)
        rows = {row.name: row for row in competition.sample_sets.all()}
        for number, values in enumerate(read.sample_sets, 1):
            if row := rows.get(values["name"]):
                with errors.collected():
                    check_sample_set(row, values, f"[[sample_sets]] number {number} ({row.name})")
        for number, values in enumerate(read.freeze_windows, 1):
            if not is_known(competition, values):
                try:
                    check_free(FreezeWindow(competition=competition, **values))
                except Refusal as refusal:
                    place = f"[[freeze_windows]] number {number}"
                    errors.append(Refusal(f"{place}: {refusal.problem}", fix=refusal.fix))
    if errors:
        refuse_all(errors)


def _changes(read: file.Document, competition: Competition | None, before: Mapping[str, Any]) -> Iterator[FileChange]:
    about = {key: value for key, value in read.about.items() if key in file.ABOUT}
    yield from differences("[competition]", _with_defaults(before, about), about)
    note = {} if read.note is None else {"note": read.note}
    old_rules = {key: value for key, value in before.get("rules", {}).items() if key != "note" or note}
    yield from differences("[rules]", old_rules, read.rules | note)
    for name, values in read.tracks.items():
        directories = values["own_baselines"]
        shown = {key: value for key, value in values.items() if key != "own_baselines"}
        shown["baselines"] = [directories.get(each, each) for each in values["baselines"]]
        yield from differences(f"[tracks.{name}]", before.get("tracks", {}).get(name, {}), shown)
    known = {each["name"] for each in before.get("sample_sets", ())}
    for values in read.sample_sets:
        if values["name"] not in known:
            text = f"{values['count']:,} samples of {values['source']} ({values['split']}) for {values['purpose']}"
            yield FileChange(f"[[sample_sets]] {values['name']}", "", text)
    for values in read.freeze_windows:
        if competition is None or not is_known(competition, values):
            yield FileChange("[[freeze_windows]]", "", f"{_period(values)}: {values['reason']}")
    planned = {each["sample_set"] for each in before.get("rounds", ())}
    for row in read.rounds:
        if row.sample_set not in planned:
            text = f"{_shown(row.starts_at)} to {_shown(row.ends_at)}, on {row.samples:,} of {row.sample_set}"
            yield FileChange(f"[[rounds]] {row.title}", "", text)
    yield from differences("[pages]", _only(before.get("pages", {}), read.pages), read.pages)


def differences(place: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[FileChange]:
    """Return the values of a table that differ, by key; a key that `after` lacks goes back to its default."""
    for key in [*after, *(key for key in before if key not in after)]:
        old, new = before.get(key), after.get(key)
        if old != new and (old or new not in ("", None, [])):
            yield FileChange(f"{place} {key}", _shown(old), _shown(new) if key in after else "the default")


def _with_defaults(before: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    written = before.get("competition")
    if written is None:
        return {}
    return {key: written.get(key, file.OMITTED_DEFAULTS.get(key)) for key in about}


def _only(values: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: values[key] for key in keys if key in values}


def _period(values: Mapping[str, Any]) -> str:
    return f"{_shown(values['starts_at'])} to {_shown(values['ends_at'])}"


def _shown(value: Any) -> str:
    if isinstance(value, datetime):
        return in_words(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        value = ", ".join(map(_shown, value))
    text = "" if value is None else str(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}... ({len(text):,} characters)"
