"""A superuser copies a competition: its file with another slug, title and start goes through the import's preview."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

import demo
from competitions.models import Competition
from competitions.services import export_competition, import_competition
from core import clock

DIGITS = tomllib.loads(Path(demo.__file__).with_name("digits.toml").read_text(encoding="utf-8"))
START = datetime(2031, 3, 1, 12, 0, tzinfo=UTC)
ENTERED = {
    "slug": "digits-2031",
    "title": "Digits of 2031",
    "starts_at": f"{START:%Y-%m-%dT%H:%M}",
}


@pytest.fixture
def original(db: None) -> Competition:
    """A competition with a freeze window, a page and terms."""
    document = deepcopy(DIGITS)
    begins = document["competition"]["starts_at"]
    document["freeze_windows"] = [
        {"starts_at": begins.replace(year=2030), "ends_at": begins.replace(year=2030, day=9), "reason": "a holiday"}
    ]
    document["pages"] = {"prizes": "A letter.", "terms": "Be fair."}
    return import_competition(document)


def page_of(competition: Competition) -> str:
    return reverse("admin:competitions_competition_clone", args=[competition.pk])


def confirm(client: Client, answer: Any) -> Any:
    shown = answer.context["shown"]
    data = {"confirmed": "yes", "text": shown.text, "seen": shown.preview.seen}
    return client.post(reverse("admin:competitions_competition_add"), data)


def test_a_copy_has_everything_that_the_file_has_at_other_times(as_superuser: Client, original: Competition) -> None:
    link = as_superuser.get(reverse("admin:competitions_competition_change", args=[original.pk])).content.decode()
    assert page_of(original).rstrip("/") in link
    assert as_superuser.get(page_of(original)).context["form"]["title"].value() == original.title
    preview = as_superuser.post(page_of(original), ENTERED)
    assert preview.context["shown"].preview.is_new
    assert f'action="{reverse("admin:competitions_competition_add")}"' in preview.content.decode()
    assert Competition.objects.count() == 1, "nothing is stored before the confirmation"
    answer = confirm(as_superuser, preview)
    made = Competition.objects.get(slug="digits-2031")
    assert answer["Location"] == reverse("admin:competitions_competition_change", args=[made.pk])
    old, new = export_competition(original), export_competition(made)
    assert {name: new[name] for name in ("rules", "tracks", "sample_sets", "pages")} == {
        name: old[name] for name in ("rules", "tracks", "sample_sets", "pages")
    }
    moved = START - original.starts_at
    assert new["freeze_windows"][0]["starts_at"] == old["freeze_windows"][0]["starts_at"] + moved
    assert (made.title, made.starts_at, made.ends_at) == ("Digits of 2031", START, original.ends_at + moved)
    assert not made.public, "teams do not see it before somebody has looked at it"
    assert made.seed_salt != original.seed_salt
    assert export_competition(original) == old


def test_a_copy_of_a_competition_with_a_round_has_none(as_superuser: Client, original: Competition) -> None:
    """No second round can be planned on the images of the first, so the import of the copy would refuse its own."""
    document, begins = export_competition(original), clock.now() + timedelta(days=5)
    document["rounds"] = [
        {
            "title": "Round 1", "kind": "development", "sample_set": "test-1", "samples": 5, "starts_at": begins,
            "ends_at": begins + timedelta(days=1),
        }
    ]  # fmt: skip
    assert import_competition(document).rounds.count() == 1
    confirm(as_superuser, as_superuser.post(page_of(original), ENTERED))
    made = Competition.objects.get(slug="digits-2031")
    assert (made.rounds.count(), made.sample_sets.filter(drawn_from=None).count()) == (0, 5)


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("slug", "digits", "A competition has this slug."),
        ("slug", "Digits 2031", "Use lower-case letters, digits and single hyphens."),
        ("slug", "", "This field is required."),
        ("title", "", "This field is required."),
        ("starts_at", "soon", "Enter a valid date/time."),
        ("starts_at", "9999-12-31T00:00", "the dates of the file would leave the calendar: choose another start"),
    ],
)
def test_it_names_what_a_copy_cannot_have(
    as_superuser: Client, original: Competition, field: str, value: str, named: str
) -> None:
    answer = as_superuser.post(page_of(original), ENTERED | {field: value})
    assert answer.status_code == 200
    assert named in str(answer.context["form"].errors)
    assert "shown" not in answer.context
    assert Competition.objects.count() == 1


def test_a_slug_that_the_site_uses_is_an_error_of_the_preview(as_superuser: Client, original: Competition) -> None:
    shown = as_superuser.post(page_of(original), ENTERED | {"slug": "admin"}).context["shown"]
    assert [each.problem for each in shown.errors] == ["[competition] slug: 'admin' is reserved"]


def test_a_slug_that_is_taken_between_preview_and_confirmation_is_refused(
    as_superuser: Client, original: Competition
) -> None:
    preview = as_superuser.post(page_of(original), ENTERED)
    document = deepcopy(DIGITS)
    document["competition"] |= {"slug": "digits-2031", "title": "Of somebody else"}
    import_competition(document)
    answer = confirm(as_superuser, preview)
    assert "has changed since the preview" in answer.context["shown"].errors[0].problem
    assert Competition.objects.get(slug="digits-2031").title == "Of somebody else"


def test_organisers_do_not_copy_competitions(as_organiser: Client, competition: Competition) -> None:
    assert as_organiser.get(page_of(competition)).status_code == 403
    assert as_organiser.post(page_of(competition), ENTERED).status_code == 403
    shown = as_organiser.get(reverse("admin:competitions_competition_change", args=[competition.pk])).content.decode()
    assert page_of(competition).rstrip("/") not in shown
