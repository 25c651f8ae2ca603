"""Reader and validator of a competition's file. Nothing is written before the whole file is valid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from competitions.baseline_files import is_directory
from competitions.bundled_baselines import bundled
from competitions.extension_points import checked_schedules
from competitions.formats import competition_formats
from competitions.models import MAX_OBJECTION_DAYS, Competition, Page, SampleSet
from competitions.organiser_page_models import MAX_TEXT
from competitions.planned_rounds_in_file import ROUND, RoundTable, read_rounds
from competitions.rules import check_rules, format_of, known_values, rules_of
from competitions.rules_reader import Rules
from competitions.toml_fields import SLUG, Errors, TomlTable
from core.errors import Refusal, refusals_of, refuse_all

MAX_BASELINE_NAME = 60
MAX_SAMPLES = 65_536
"""Maximum number of samples: sample numbers have 16 bits in the protocol."""
REQUIRED_PURPOSES = (SampleSet.Purpose.DEVELOPMENT, SampleSet.Purpose.VALIDATION)
"""Purposes without which a competition could not score submissions."""
TOP = ("competition", "rules", "tracks", "sample_sets", "freeze_windows", "rounds", "pages")
ABOUT = (
    "slug", "title", "summary", "description", "data_source", "citation", "starts_at", "ends_at", "public",
    "licence_policy", "rescore_all", "smoke_opponent", "new_validation_set",
    "objection_days",
)  # fmt: skip
TRACK = ("title", "text", "quota", "baselines")
SAMPLE_SET = ("name", "purpose", "source", "split", "order", "skip", "count", "target_seed")
TERMS = "terms"
PAGES = (*Page.Name.values, TERMS)
OMITTED_DEFAULTS = {
    "data_source": "",
    "citation": "",
    "smoke_opponent": "",
    "order": "published",
    "skip": 0,
    "rescore_all": False,
    "new_validation_set": True,
    "objection_days": 0,
}
"""Default values that an export omits."""
WINDOW = ("starts_at", "ends_at", "reason")


@dataclass(frozen=True)
class Document:
    """Column values for the rows; `tracks` by track name; `note` is None if the file has none.

    `pages` has the texts of the pages and of the terms that the file names, by name.
    """

    slug: str
    about: dict[str, Any]
    rules: dict[str, Any]
    note: str | None
    tracks: dict[str, dict[str, Any]]
    sample_sets: tuple[dict[str, Any], ...]
    freeze_windows: tuple[dict[str, Any], ...]
    rounds: tuple[RoundTable, ...]
    pages: dict[str, str]

    def engine_rules(self, version: int) -> Rules:
        """Return the rules as the engine reads them."""
        return rules_of(self.rules, version)


def read(content: Mapping[str, Any]) -> Document:
    """Read a parsed file. Raise `Refusal` naming the places of all errors and the fixes."""
    errors = Errors()
    with errors.collected():
        document = _read(content, errors)
    if errors:
        refuse_all(errors)
    return document


def _read(content: Mapping[str, Any], errors: Errors) -> Document:
    """Return what can be read; it means nothing if there are errors. Raise `Refusal` where nothing more can be read."""
    top = TomlTable("the file", content, TOP, errors)
    about: dict[str, Any] = {"slug": ""}
    with errors.collected():
        about = _about(TomlTable("[competition]", content.get("competition"), ABOUT, errors))
    rules, note = _rules(content.get("rules"), errors)
    about["format"] = format_of(rules)
    names = [track.name for track in competition_formats[about["format"]].tracks]
    found: dict[str, dict[str, Any]] = {}
    with errors.collected():
        tracks = TomlTable("[tracks]", content.get("tracks"), names, errors)
        for track_name in names:
            with errors.collected():
                found[track_name] = _track(about["format"], track_name, tracks.content.get(track_name), errors)
    sample_sets = _sample_sets(top)
    windows = tuple(_window(table) for table in _tables(top, "freeze_windows", WINDOW))
    pages: dict[str, str] = {}
    with errors.collected():
        pages = _pages(TomlTable("[pages]", content.get("pages", {}), PAGES, errors))
    rounds: tuple[RoundTable, ...] = ()
    if not errors:  # rounds refer to sets and windows
        rounds = read_rounds(_tables(top, "rounds", ROUND), sample_sets, windows)
    if not errors:
        checked_schedules.answers(about["format"], rounds)
    return Document(
        slug=about.pop("slug"),
        about=about,
        rules=rules,
        note=note,
        tracks=found,
        sample_sets=sample_sets,
        freeze_windows=windows,
        rounds=rounds,
        pages=pages,
    )


def _about(table: TomlTable) -> dict[str, Any]:
    starts_at, ends_at = table.span()
    policies = Competition.LicencePolicy
    return {
        "slug": table.slug("slug", most=60),
        "title": table.text("title", most=120),
        "summary": table.text("summary", most=300, default=""),
        "description": table.text("description", most=MAX_TEXT, default=""),
        "data_source": table.text("data_source", most=MAX_TEXT, default=""),
        "citation": table.text("citation", most=MAX_TEXT, default=""),
        "starts_at": starts_at,
        "ends_at": ends_at,
        "public": table.flag("public", default=False),
        "licence_policy": table.choice("licence_policy", policies.values, default=policies.OPEN_SOURCE.value),
        "rescore_all": table.flag("rescore_all", default=False),
        "smoke_opponent": table.text("smoke_opponent", most=300, default=""),
        "new_validation_set": table.flag("new_validation_set", default=True),
        "objection_days": table.number("objection_days", 0, MAX_OBJECTION_DAYS, default=0),
    }


def _pages(table: TomlTable) -> dict[str, str]:
    return {name: table.text(name, most=MAX_TEXT, default="") for name in table.content}


def _rules(content: Any, errors: Errors) -> tuple[dict[str, Any], str | None]:
    try:
        known = known_values(format_of(content if isinstance(content, dict) else {}))
    except Refusal as refusal:
        raise Refusal(f"[rules] {refusal.problem}", fix=refusal.fix) from refusal
    table = TomlTable("[rules]", content, sorted(known | {"note"}), errors)
    note = table.text("note", most=MAX_TEXT, default="") if "note" in table.content else None
    values = {key: value for key, value in table.content.items() if key != "note"}
    try:
        check_rules({key: value for key, value in values.items() if key in known})
    except Refusal as refusal:
        errors += [Refusal(f"{table.place} {each.problem}", fix=each.fix) for each in refusals_of(refusal)]
    return values, note


def _track(format_name: str, track_name: str, content: Any, errors: Errors) -> dict[str, Any]:
    table = TomlTable(f"[tracks.{track_name}]", content, TRACK, errors)
    return {
        "title": table.text("title", most=80),
        "text": table.text("text", most=MAX_TEXT, default=""),
        "quota": table.number("quota", 1, 1000, default=5),
        **_baselines(table, bundled(format_name, track_name)),
    }


def _baselines(table: TomlTable, bundled_names: Sequence[str]) -> dict[str, Any]:
    """Return the names of a track's baselines in their order, and the directories of those that are not bundled.

    The name of a directory is its last part.
    """
    names, directories = [], {}
    for listed in table.names("baselines", bundled_names, also=is_directory):
        name = PurePosixPath(listed).name if is_directory(listed) else listed
        if is_directory(listed):
            if name in bundled_names or name in names or not SLUG.fullmatch(name) or len(name) > MAX_BASELINE_NAME:
                raise table.refusal(
                    "baselines",
                    f"the directory {listed!r} has no name of its own",
                    "call it by lower-case letters, digits and single hyphens, and like no other baseline of the track",
                )
            directories[name] = listed
        names.append(name)
    return {"baselines": names, "own_baselines": directories}


def _sample_sets(top: TomlTable) -> tuple[dict[str, Any], ...]:
    found: dict[str, dict[str, Any]] = {}
    for table in _tables(top, "sample_sets", SAMPLE_SET):
        name = table.slug("name", most=40)
        if name and name in found:
            top.errors.append(table.refusal("name", f"{name!r} is used twice", "choose another name for one of them"))
        found[name] = {
            "name": name,
            "purpose": table.choice("purpose", SampleSet.Purpose.values),
            "source": table.text("source", most=300),
            "split": table.text("split", most=SampleSet.MAX_SPLIT),
            "order": table.choice("order", SampleSet.Order.values, default=SampleSet.Order.PUBLISHED.value),
            "skip": table.number("skip", 0, 10_000_000, default=0),
            "count": table.number("count", 1, MAX_SAMPLES),
            "target_seed": table.number("target_seed", 0, 2**63 - 1),
        }
    for purpose in REQUIRED_PURPOSES:
        if all(values["purpose"] != purpose for values in found.values()):
            problem = f'no set has purpose = "{purpose}"'
            fix = "add at least one set for development and one for validation"
            top.errors.append(top.refusal("sample_sets", problem, fix))
    return tuple(found.values())


def _window(table: TomlTable) -> dict[str, Any]:
    starts_at, ends_at = table.span()
    return {"starts_at": starts_at, "ends_at": ends_at, "reason": table.text("reason", most=200)}


def _tables(top: TomlTable, key: str, known: tuple[str, ...]) -> list[TomlTable]:
    rows, found = top.content.get(key, []), []
    if not isinstance(rows, list):
        top.errors.append(top.refusal(key, "is not a list of tables", f"begin each table with a line [[{key}]]"))
        return []
    for number, row in enumerate(rows, 1):
        with top.errors.collected():
            found.append(TomlTable(f"[[{key}]] number {number}", row, known, top.errors))
    return found
