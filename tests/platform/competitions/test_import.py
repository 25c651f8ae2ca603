"""Import and export of competitions, and entries."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import demo
from accounts.models import Team, User
from accounts.services import create_team
from competitions.models import Competition, Entry
from competitions.selectors import may_organise, rules_in_force, visible_competitions
from competitions.services import (
    appoint_organiser,
    enter,
    export_competition,
    import_competition,
    make_team,
)
from competitions.toml_schema import read
from core.errors import Refusal

DIGITS = tomllib.loads(Path(demo.__file__).with_name("digits.toml").read_text(encoding="utf-8"))


@pytest.fixture
def document() -> dict[str, Any]:
    return deepcopy(DIGITS)


def test_it_works(db: None, document: dict[str, Any]) -> None:
    made = import_competition(document)
    assert export_competition(made) == document
    again = import_competition(export_competition(made))
    assert again.pk == made.pk
    assert export_competition(again) == document
    assert rules_in_force(again).version == 1
    document["rules"]["query_budget"] = 200
    assert rules_in_force(import_competition(document)).version == 2


def test_it_rejects_a_slug_that_the_site_uses(db: None, document: dict[str, Any]) -> None:
    document["competition"]["slug"] = "new"
    with pytest.raises(Refusal, match="'new' is reserved"):
        import_competition(document)
    document["competition"]["slug"] = "old"
    made = import_competition(document)
    Competition.objects.filter(pk=made.pk).update(slug="public")  # as an older competition may be called
    document["competition"]["slug"] = "public"
    assert import_competition(document).pk == made.pk


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("tracks", "model", "quota"), "5", r"\[tracks.model\] quota"),
        (("tracks", "model", "qouta"), 5, r"did you mean 'quota'"),
        (("tracks", "model", "baselines"), ["boundary"], r"\[tracks.model\] baselines"),
        (("tracks", "targeted"), None, r"\[tracks.targeted\] is missing"),
        (("competition", "starts_at"), "today", r"\[competition\] starts_at"),
        (("rules", "query_budget"), 0, r"\[rules\] the rule query_budget"),
        (("rules", "query_budgets"), 1, r"did you mean 'query_budget'"),
    ],
)
def test_it_rejects_a_wrong_value(
    db: None, document: dict[str, Any], path: tuple[str, ...], value: object, named: str
) -> None:
    table = document
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    with pytest.raises(Refusal, match=named):
        import_competition(document)
    assert not Competition.objects.exists()


def test_it_rejects_a_changed_sample_set(db: None, document: dict[str, Any]) -> None:
    import_competition(document)
    document["sample_sets"][0]["count"] = 21
    with pytest.raises(Refusal, match="an imported set cannot be changed"):
        import_competition(document)


@pytest.mark.parametrize("purpose", ["development", "validation"])
def test_it_rejects_a_competition_that_could_never_score(db: None, document: dict[str, Any], purpose: str) -> None:
    document["sample_sets"] = [values for values in document["sample_sets"] if values["purpose"] != purpose]
    with pytest.raises(Refusal, match=f'sample_sets: no set has purpose = "{purpose}"'):
        import_competition(document)
    assert not Competition.objects.exists()


def test_a_person_is_in_one_team_of_a_competition(
    entry: Entry, bob: User, charlie: User, competition: Competition
) -> None:
    with pytest.raises(Refusal, match="The Owls"):
        make_team(slug="others", name="Others", captain=bob, competition=competition)
    assert not Team.objects.filter(slug="others").exists()
    other = make_team(slug="newts", name="Newts", captain=charlie, competition=competition)
    with pytest.raises(Refusal, match="already takes part"):
        enter(team=other.team, competition=competition)


def test_it_rejects_an_entry_after_the_end(competition: Competition, charlie: User) -> None:
    competition.ends_at = competition.starts_at
    with pytest.raises(Refusal, match="has ended"):
        enter(team=create_team(slug="late", name="Late", captain=charlie), competition=competition)


def test_organisers_see_what_is_not_public(competition: Competition, charlie: User) -> None:
    Competition.objects.update(public=False)
    assert not visible_competitions(charlie).exists()
    appoint_organiser(competition=competition, user=charlie)
    assert may_organise(charlie, competition)
    assert visible_competitions(charlie).exists()


def test_the_example_in_the_docs_is_valid() -> None:
    page = (Path(demo.__file__).parents[2] / "docs" / "competitions.md").read_text(encoding="utf-8")
    found = read(tomllib.loads(page.partition("```toml\n")[2].partition("```")[0]))
    assert found.query_rules(1).query_budget == 1000
