"""Import and export of competitions, and entries."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import demo
from accounts.models import Team, User
from accounts.services import create_team
from competitions.bundled_baselines import works_only_on
from competitions.competition_file_reader import read
from competitions.models import Competition, Entry, Organiser
from competitions.permissions import may, visible_competitions
from competitions.sample_store import image_hashes, samples_of
from competitions.selectors import rules_in_force
from competitions.services import (
    enter,
    export_competition,
    import_competition,
    make_team,
)
from core.errors import Refusal, refusals_of
from core.roles import Right
from evaluation.datasets.load import load_dataset
from evaluation.formats.query.rules import QueryRules

DIGITS = tomllib.loads(Path(demo.__file__).with_name("digits.toml").read_text(encoding="utf-8"))


@pytest.fixture
def document() -> dict[str, Any]:
    return deepcopy(DIGITS)


def test_an_export_is_the_imported_document_and_only_changed_rules_make_a_version(
    db: None, document: dict[str, Any]
) -> None:
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
        (("competition", "ends_at"), datetime.max.replace(tzinfo=UTC), r"ends_at: the year 9999 is out of range"),
        (("rules", "query_budget"), 0, r"\[rules\] the rule query_budget"),
        (("rules", "setup_seconds"), float("inf"), r"\[rules\] the rule setup_seconds is inf"),
        (("rules", "setup_seconds"), float("nan"), r"\[rules\] the rule setup_seconds is nan"),
        (("rules", "counting_submission"), "best", r"\[rules\] the rule counting_submission is 'best'"),
        (("rules", "counting_submission"), ["chosen"], r"\[rules\] the rule counting_submission"),
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


def test_who_has_a_role_in_a_competition_and_superusers_cannot_found_a_team_in_it(
    competition: Competition, olga: User, root_user: User
) -> None:
    for captain in (olga, root_user):
        with pytest.raises(Refusal, match="cannot compete in it"):
            make_team(slug="newts", name="Newts", captain=captain, competition=competition)
    assert not Team.objects.filter(slug="newts").exists()


def test_it_rejects_an_entry_after_the_end(competition: Competition, charlie: User) -> None:
    competition.ends_at = competition.starts_at
    with pytest.raises(Refusal, match="has ended"):
        enter(team=create_team(slug="late", name="Late", captain=charlie), competition=competition)


def test_organisers_see_what_is_not_public(competition: Competition, charlie: User) -> None:
    Competition.objects.update(public=False)
    assert not visible_competitions(charlie).exists()
    Organiser.objects.create(competition=competition, user=charlie, role="helper")
    assert may(charlie, competition, Right.SEE)
    assert visible_competitions(charlie).exists()


def secret(name: str, purpose: str, skip: int, count: int) -> dict[str, Any]:
    """A part of the secret order of the digits' split validation, which has 200 images."""
    values = {"source": "digits", "split": "validation", "order": "secret", "target_seed": 1}
    return values | {"name": name, "purpose": purpose, "skip": skip, "count": count}


def test_parts_of_a_secret_order_share_no_image_whenever_they_are_imported(db: None, document: dict[str, Any]) -> None:
    document["sample_sets"] = [secret("public", "development", 0, 60), secret("validation", "validation", 60, 60)]
    import_competition(document)
    document["sample_sets"].append(secret("final", "final", 120, 70))
    made = import_competition(document)
    assert export_competition(made)["sample_sets"][1]["order"] == "secret"
    first, second, third = (image_hashes(row) for row in made.sample_sets.order_by("pk"))
    assert (len(first), len(second), len(third)) == (60, 60, 70)
    assert len(first | second | third) == 190


def test_a_secret_order_is_that_of_one_competition(db: None, document: dict[str, Any]) -> None:
    document["sample_sets"] = [secret("public", "development", 0, 60), secret("validation", "validation", 60, 60)]
    made = import_competition(document)
    document["competition"]["slug"] = "another"
    other = import_competition(document)
    published = load_dataset("digits").samples("validation", 60)
    ours, theirs = (
        [sample.label for sample in samples_of(row.sample_sets.get(name="public"))] for row in (made, other)
    )
    assert ours != theirs
    assert ours != [sample.label for sample in published]


def test_it_rejects_more_than_the_distinct_images_of_a_split(
    db: None, document: dict[str, Any], tmp_path: Path
) -> None:
    for label in ("0", "1"):
        for number, value in enumerate((10, 20, 30 + int(label), 10)):  # three of the eight are repeated
            folder = tmp_path / label
            folder.mkdir(exist_ok=True)
            Image.fromarray(np.full((64, 64, 3), value, np.uint8)).save(folder / f"{number}.png")
    document["rules"]["classes"] = 2
    values = secret("public", "development", 1, 4) | {"source": f"folder:{tmp_path}", "split": "all"}
    document["sample_sets"] = [values, values | {"name": "validation", "purpose": "validation"}]
    with pytest.raises(Refusal, match=r"5 samples were requested, but the split 'all' of .* has 4 images"):
        import_competition(document)


def test_it_rejects_an_import_beside_another_one(db: None, document: dict[str, Any]) -> None:
    """Its samples are drawn with another salt than that of the competition, which came first."""

    def come_second() -> str:
        import_competition(document)
        return "5" * 64

    with pytest.raises(Refusal, match="at the same time") as refused:
        import_competition(document, new_salt=come_second)
    assert refused.value.fix == "import the file again"


def test_the_competition_of_2018_has_disjoint_sets_of_the_sizes_of_2018(root: Path) -> None:
    document = read(tomllib.loads((root / "competitions" / "avc-2018.toml").read_text(encoding="utf-8")))
    sets = {values["name"]: range(values["skip"], values["skip"] + values["count"]) for values in document.sample_sets}
    assert {name: len(part) for name, part in sets.items()} == {
        "development": 500,
        "validation": 200,
        "test-1": 200,
        "test-2": 200,
        "final": 500,
    }
    numbers = [number for part in sets.values() for number in part]
    assert len(numbers) == len(set(numbers))
    assert max(numbers) < 10_000
    assert {values["order"] for values in document.sample_sets} == {"secret"}
    rules = document.engine_rules(1)
    assert isinstance(rules, QueryRules)
    assert (rules.query_budget, rules.classes, rules.opponents, tuple(rules.shape)) == (1000, 200, 5, (64, 64, 3))
    assert all(values["quota"] == 5 for values in document.tracks.values())


@pytest.mark.parametrize("name", ["avc-2018", "decision-1000", "digits-decision-1000"])
def test_competitions_of_the_query_format_have_baselines_for_their_images(root: Path, name: str) -> None:
    document = read(tomllib.loads((root / "competitions" / f"{name}.toml").read_text(encoding="utf-8")))
    source = document.sample_sets[0]["source"]
    baselines = {track: values["baselines"] for track, values in document.tracks.items()}
    assert all(baselines.values())
    assert {works_only_on(track, each, source) for track, names in baselines.items() for each in names} == {""}
    assert works_only_on("model", "compact-plain", "cifar10:DIR") == "tiny-imagenet"


@pytest.mark.parametrize("name", ["decision-1000", "digits-decision-1000"])
def test_a_board_of_1000_queries_begins_with_every_decision_based_entry(root: Path, name: str) -> None:
    document = read(tomllib.loads((root / "competitions" / f"{name}.toml").read_text(encoding="utf-8")))
    rules = document.engine_rules(1)
    assert isinstance(rules, QueryRules)
    assert (rules.query_budget, tuple(rules.shape), rules.norm) == (1000, (64, 64, 3), "l2")
    names = {"boundary-filter", "cgba", "qeba", "surfree", "geoda", "tangent", "hopskipjump", "boundary"}
    assert set(document.tracks["untargeted"]["baselines"]) == names
    assert len(names) <= rules.opponents, "the first pool has all of them"
    targeted = set(document.tracks["targeted"]["baselines"])
    without_targeted_form = {"surfree", "geoda"}
    expected = {f"targeted-{each}" for each in names - without_targeted_form}
    assert targeted == (expected if name.startswith("digits") else {"compact-targeted-iterative-transfer"})


@pytest.mark.parametrize("name", ["nips-2017", "digits-transfer"])
def test_competitions_of_the_transfer_format_have_baselines_for_their_images(root: Path, name: str) -> None:
    document = read(tomllib.loads((root / "competitions" / f"{name}.toml").read_text(encoding="utf-8")))
    source = document.sample_sets[0]["source"]
    named = [(track, baseline) for track, values in document.tracks.items() for baseline in values["baselines"]]
    assert {track for track, _ in named} == {"attack", "targeted_attack", "defence"}
    assert [each for each in named if works_only_on(*each, source)] == []
    assert works_only_on("defence", "adversarially-trained", "nips2017:DIR") == "digits"
    assert works_only_on("attack", "fgsm", "cifar10:DIR") == "digits or nips2017"


def test_all_errors_of_a_file_are_named_together(db: None, document: dict[str, Any]) -> None:
    document["competition"] |= {"title": "", "ends_at": "later", "unknown": 1}
    document["rules"] |= {"query_budget": 0, "setup_seconds": -1}
    document["tracks"]["model"]["quota"] = "5"
    document["sample_sets"][0]["count"] = 0
    document["freeze_windows"] = [{"starts_at": "now", "ends_at": "later", "reason": "x"}]
    with pytest.raises(Refusal) as refused:
        import_competition(document)
    places = [each.problem.split(":")[0] for each in refusals_of(refused.value)]
    assert places == [
        *("[competition] unknown", "[competition] ends_at", "[competition] title"),
        *("[rules] the rule query_budget is 0", "[rules] the rule setup_seconds is -1"),
        *("[tracks.model] quota", "[[sample_sets]] number 1 count"),
        *("[[freeze_windows]] number 1 starts_at", "[[freeze_windows]] number 1 ends_at"),
    ]
    assert all(each.fix for each in refusals_of(refused.value))
    assert str(refused.value).startswith("9 errors\n  [competition] unknown: unknown key\n    fix: ")
