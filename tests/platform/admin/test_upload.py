"""A superuser creates and changes a competition from an uploaded file; nothing is stored before the confirmation."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

import demo
from competitions.models import Competition, RulesVersion, SampleSet
from competitions.services import export_competition, import_competition
from competitions.toml_text import MOST_BYTES, written

DIGITS = tomllib.loads(Path(demo.__file__).with_name("digits.toml").read_text(encoding="utf-8"))
ADD = "admin:competitions_competition_add"


@pytest.fixture
def document() -> dict[str, Any]:
    return deepcopy(DIGITS)


def uploaded(client: Client, content: str | bytes) -> Any:
    """Upload a file; return what the page shows of it."""
    data = content.encode() if isinstance(content, str) else content
    page = client.post(reverse(ADD), {"file": SimpleUploadedFile("mine.toml", data)})
    assert page.status_code == 200
    return page.context["shown"]


def confirm(client: Client, shown: Any) -> Any:
    return client.post(reverse(ADD), {"confirmed": "yes", "text": shown.text, "seen": shown.preview.seen})


def test_a_competition_is_created_from_a_file_and_exported_as_one(
    as_superuser: Client, document: dict[str, Any]
) -> None:
    shown = uploaded(as_superuser, written(document))
    assert shown.preview.is_new
    places = [each.place for each in shown.preview.changes]
    assert "[competition] title" in places
    assert f"[[sample_sets]] {document['sample_sets'][0]['name']}" in places
    assert not Competition.objects.exists()
    assert not SampleSet.objects.exists()
    answer = confirm(as_superuser, shown)
    made = Competition.objects.get()
    assert answer.status_code == 302
    assert answer["Location"] == reverse("admin:competitions_competition_change", args=[made.pk])
    address = as_superuser.get(answer["Location"]).content.decode()
    export = reverse("admin:competitions_competition_export", args=[made.pk])
    assert export in address
    file = as_superuser.get(export)
    assert tomllib.loads(file.content.decode()) == document == export_competition(made)
    assert not uploaded(as_superuser, file.content).preview.changes


def test_a_change_shows_its_values_before_and_after(as_superuser: Client, document: dict[str, Any]) -> None:
    import_competition(document)
    document["rules"]["query_budget"] = 123
    document["competition"]["title"] = "Other digits"
    shown = uploaded(as_superuser, written(document))
    changed = {each.place: (each.before, each.after) for each in shown.preview.changes}
    assert changed == {
        "[competition] title": (DIGITS["competition"]["title"], "Other digits"),
        "[rules] query_budget": (str(DIGITS["rules"]["query_budget"]), "123"),
    }
    confirm(as_superuser, shown)
    assert RulesVersion.objects.count() == 2
    assert Competition.objects.get().title == "Other digits"


def test_a_change_between_preview_and_confirmation_is_refused(as_superuser: Client, document: dict[str, Any]) -> None:
    made = import_competition(document)
    document["rules"]["query_budget"] = 123
    shown = uploaded(as_superuser, written(document))
    Competition.objects.update(title="Renamed meanwhile")
    page = confirm(as_superuser, shown)
    again = page.context["shown"]
    assert [each.problem for each in again.errors] == [f"{made.slug} has changed since the preview"]
    assert Competition.objects.get().title == "Renamed meanwhile"
    assert RulesVersion.objects.count() == 1
    assert "[competition] title" in [each.place for each in again.preview.changes], "the new preview is shown"
    assert confirm(as_superuser, again).status_code == 302
    assert RulesVersion.objects.count() == 2


def test_two_people_who_create_the_same_competition_do_not_overwrite_each_other(
    as_superuser: Client, document: dict[str, Any]
) -> None:
    shown = uploaded(as_superuser, written(document))
    import_competition(document | {"competition": document["competition"] | {"title": "Of somebody else"}})
    assert confirm(as_superuser, shown).status_code == 200
    assert Competition.objects.get().title == "Of somebody else"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[competition\n", "at line 1, column 13"),
        (b"\xff\xfe", "is not valid TOML in UTF-8"),
        (b"a = " + b"[" * 100_000, "brackets"),
        (b"#" * (MOST_BYTES + 1), "more than 1 MiB"),
        (b"", "The submitted file is empty."),
    ],
    ids=["no-toml", "no-text", "deep", "large", "empty"],
)
def test_it_rejects_what_is_no_file_of_a_competition(as_superuser: Client, content: bytes, problem: str) -> None:
    page = as_superuser.post(reverse(ADD), {"file": SimpleUploadedFile("mine.toml", content)})
    assert problem in page.content.decode()
    assert not Competition.objects.exists()


def test_all_errors_are_listed_with_their_places(as_superuser: Client, document: dict[str, Any]) -> None:
    import_competition(document)
    document["sample_sets"][0]["count"] -= 1
    document["sample_sets"][1]["target_seed"] += 1
    document["rules"] |= {"shape": [9, 9, 1]}
    problems = [each.problem for each in uploaded(as_superuser, written(document)).errors]
    assert len(problems) == 3
    assert problems[0].startswith("shape and classes of the rules differ")
    assert problems[1].startswith("[[sample_sets]] number 1")
    document["tracks"]["model"]["quota"] = 0
    document["competition"]["title"] = ""
    problems = [each.problem.split(":")[0] for each in uploaded(as_superuser, written(document)).errors]
    assert problems == ["[competition] title", "[tracks.model] quota"]


def test_an_import_that_cannot_read_its_images_stores_nothing(
    as_superuser: Client, document: dict[str, Any], tmp_path: Path
) -> None:
    for each in document["sample_sets"]:
        each["source"] = f"folder:{tmp_path / 'nowhere'}"
    shown = uploaded(as_superuser, written(document))
    page = confirm(as_superuser, shown)
    assert page.status_code == 200
    assert "[[sample_sets]] number 1" in page.context["shown"].errors[0].problem
    assert not Competition.objects.exists()


def test_organisers_export_their_competition_and_import_none(as_organiser: Client, rules: RulesVersion) -> None:
    export = reverse("admin:competitions_competition_export", args=[rules.competition_id])
    assert tomllib.loads(as_organiser.get(export).content.decode())["competition"]["slug"] == "digits"
    assert as_organiser.get(reverse(ADD)).status_code == 403
    other = Competition.objects.create(
        slug="other",
        title="Other",
        starts_at=rules.created_at,
        ends_at=rules.created_at + timedelta(days=1),
        created_at=rules.created_at,
    )
    assert as_organiser.get(reverse("admin:competitions_competition_export", args=[other.pk])).status_code == 403
