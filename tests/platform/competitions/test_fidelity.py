"""`docs/fidelity.md` against the templates of the papers' competitions and the defaults of the rules."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from competitions.formats import competition_formats
from competitions.rules import format_of

TEMPLATES = {"2018": "avc-2018", "2017": "nips-2017"}
FROM_SITE = {"least_accuracy"}
"""Rules that the engine does not have."""

each_template = pytest.mark.parametrize("year", TEMPLATES)


class Setting(NamedTuple):
    """A row of the page; `paper` is None where the paper names no value."""

    path: str
    paper: Any
    here: Any
    reason: str


def value_of(cell: str) -> Any:
    """Return the value in a cell, which is written as in TOML."""
    return None if cell == "-" else tomllib.loads(f"value = {cell.strip('`')}")["value"]


def settings(root: Path, year: str) -> list[Setting]:
    """Return the rows of the settings of a year."""
    page = (root / "docs" / "fidelity.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## Settings of {year}$(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "| `" in line]
    return [Setting(row[0].split("`")[1], value_of(row[1]), value_of(row[2]), row[3]) for row in rows]


def template(root: Path, year: str) -> dict[str, Any]:
    """Return the file of a year."""
    return tomllib.loads((root / "competitions" / f"{TEMPLATES[year]}.toml").read_text(encoding="utf-8"))


def values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that the page compares, by path; rounds by their sample set, with the hours of windows."""
    found = {f"rules.{key}": value for key, value in document["rules"].items() if key not in ("name", "format", "note")}
    found |= {f"tracks.{name}.quota": track["quota"] for name, track in document["tracks"].items()}
    found |= {f"sample_sets.{each['name']}.count": each["count"] for each in document["sample_sets"]}
    for each in document["rounds"]:
        name = f"rounds.{each['sample_set']}"
        found[f"{name}.hours"] = (each["ends_at"] - each["starts_at"]).total_seconds() / 3600
        if "schedule" in each:
            found[f"{name}.schedule"] = each["schedule"]
    about = {"rescore_all": False} | document["competition"]
    names = ("rescore_all", "new_validation_set", "licence_policy", "starts_at", "ends_at")
    return found | {f"competition.{name}": about[name] for name in names}


@each_template
def test_it_has_every_value_of_the_template(root: Path, year: str) -> None:
    assert {each.path: each.here for each in settings(root, year)} == values(template(root, year))


@each_template
def test_it_gives_a_reason_where_the_template_differs_from_the_paper(root: Path, year: str) -> None:
    differ = [each for each in settings(root, year) if each.paper is not None and each.paper != each.here]
    assert [each.path for each in differ if not each.reason] == []


@each_template
def test_the_defaults_of_the_rules_are_those_of_the_paper_or_the_template(root: Path, year: str) -> None:
    defaults = competition_formats[format_of(template(root, year)["rules"])].rules.make().as_dict()
    rules = [each for each in settings(root, year) if each.path.startswith("rules.")]
    for each in rules:
        if (name := each.path.removeprefix("rules.")) not in FROM_SITE:
            assert defaults[name] in (each.paper, each.here), each.path
