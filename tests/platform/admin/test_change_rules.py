"""Organisers change the rules in a form, see what changes and what it costs, and confirm with a reason."""

from __future__ import annotations

import re
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.models import Competition, Organiser, RulesVersion, SampleSet
from competitions.rules_changes import change_rules
from competitions.services import import_competition
from core.errors import Refusal
from core.models import Event

MOST_BYTES = 100_000
"""Of the page before it is compressed."""


def page_of(competition: Competition) -> str:
    return reverse("admin:competitions_competition_change_rules", args=[competition.pk])


def opened(client: Client, competition: Competition) -> dict[str, Any]:
    """Open the form; return what it sends if nothing is entered."""
    form = client.get(page_of(competition)).context["form"]
    return {field.name: field.value() or "" for field in form}


def confirmed(data: dict[str, Any], reason: str = "Attacks got better.") -> dict[str, Any]:
    return data | {"confirmed": "yes", "reason": reason}


def errors_of(answer: Any) -> dict[str, list[str]]:
    """Return the errors beside the fields."""
    assert answer.status_code == 200
    assert "changes" not in answer.context
    return dict(answer.context["form"].errors)


def messages_of(answer: Any) -> str:
    return " ".join(map(str, answer.context["messages"]))


@pytest.fixture(params=["query", "transfer", "curves"])
def of_format(request: pytest.FixtureRequest, root: Path, olga: User) -> Competition:
    """A competition of each format that Olga organises, with rules as an organiser writes them."""
    path = {"query": "platform/demo/digits.toml"}.get(request.param, f"competitions/digits-{request.param}.toml")
    document = tomllib.loads((root / path).read_text(encoding="utf-8"))
    document["competition"]["slug"] = "imported"
    document.pop("rounds", None)
    document["sample_sets"] = [each | {"count": 5} for each in document["sample_sets"]]
    made = import_competition(document)
    Organiser.objects.create(competition=made, user=olga)
    return made


def test_the_form_has_each_rule_with_its_meaning_and_sends_what_is_in_force(
    as_organiser: Client, of_format: Competition
) -> None:
    values = of_format.rules_versions.get().values
    answer = as_organiser.get(page_of(of_format))
    form = answer.context["form"]
    assert set(values) - {"format", "norm"} <= set(form.fields)
    for name in set(form.fields) - {"seen"}:
        help_text = form.fields[name].help_text
        assert "Default, if empty: " in help_text
        assert ("In force: " in help_text) == (name in values)
    unchanged = as_organiser.post(page_of(of_format), confirmed(opened(as_organiser, of_format)))
    assert errors_of(unchanged) == {"__all__": ["These are the rules of version 1. Change at least one value."]}
    assert form.values == {}
    assert unchanged.context["form"].values == values, "what the form sends is what the file has"
    assert of_format.rules_versions.count() == 1


@pytest.mark.parametrize("of_format", ["transfer"], indirect=True)
def test_lists_and_choices_are_entered_as_text(as_organiser: Client, of_format: Competition) -> None:
    data = opened(as_organiser, of_format) | {"epsilons": "2, 4", "opponents": "complete", "batch_images": ""}
    preview = as_organiser.post(page_of(of_format), data)
    assert {each.name for each in preview.context["changes"]} >= {"epsilons", "opponents"}
    as_organiser.post(page_of(of_format), confirmed(data))
    values = of_format.rules_versions.get(version=2).values
    assert (values["epsilons"], values["opponents"], values["format"]) == ([2, 4], "complete", "transfer")
    assert "batch_images" not in values, "an empty field is a rule that is not set"
    wrong = as_organiser.post(page_of(of_format), opened(as_organiser, of_format) | {"epsilons": "2, many"})
    assert errors_of(wrong).keys() == {"epsilons"}


@pytest.mark.parametrize("of_format", ["curves"], indirect=True)
def test_attacks_are_entered_one_on_a_line(as_organiser: Client, of_format: Competition) -> None:
    data = opened(as_organiser, of_format)
    lines = data["attacks"].splitlines()
    assert lines[0] == "boundary, untargeted, l2, 500"
    as_organiser.post(page_of(of_format), confirmed(data | {"attacks": "boundary, untargeted, l2, 900\n\n" + lines[1]}))
    attacks = of_format.rules_versions.get(version=2).values["attacks"]
    assert attacks[0] == {"name": "boundary", "goal": "untargeted", "norm": "l2", "queries": 900}
    assert len(attacks) == 2
    for wrong in (
        "boundary, untargeted, l2",
        "boundary, untargeted, l2, 9, 9",
        "boundary",
        "nobody, untargeted, l2, 9",
    ):
        answer = as_organiser.post(page_of(of_format), opened(as_organiser, of_format) | {"attacks": wrong})
        assert errors_of(answer).keys() == {"attacks"}, wrong


def test_a_change_is_previewed_and_becomes_the_next_version_with_its_reason(
    as_organiser: Client, olga: User, rules: RulesVersion, sample_sets: dict[str, SampleSet]
) -> None:
    competition = rules.competition
    data = opened(as_organiser, competition) | {"query_budget": "80", "piece_samples": ""}
    preview = as_organiser.post(page_of(competition), data)
    changed = {each.name: (each.before, each.after) for each in preview.context["changes"]}
    assert changed == {"query_budget": ("50", "80"), "piece_samples": ("2", "10")}
    shown = preview.content.decode()
    assert "No submission is evaluated again." in shown
    assert "10 (the default)" in shown
    again = as_organiser.post(page_of(competition), data | {"edit": "yes"})
    assert again.context["form"]["query_budget"].value() == "80", "the way back keeps what was entered"
    assert RulesVersion.objects.count() == 1
    answer = as_organiser.post(page_of(competition), confirmed(data), follow=True)
    assert "Version 2 of the rules is in force." in messages_of(answer)
    made = RulesVersion.objects.get(version=2)
    assert made.values == {name: value for name, value in rules.values.items() if name != "piece_samples"} | {
        "query_budget": 80
    }
    assert made.note == "Attacks got better."
    event = Event.objects.get(verb="set_rules")
    assert (event.subject, event.by, event.reason) == (f"rulesversion:{made.pk}", olga, "Attacks got better.")
    assert event.data["changes"] == ["Samples in a piece: 2 -> 10", "Query budget for each sample: 50 -> 80"]


@pytest.mark.parametrize("reason", ["", "   "])
def test_a_reason_is_required(as_organiser: Client, rules: RulesVersion, reason: str) -> None:
    data = opened(as_organiser, rules.competition) | {"query_budget": "80"}
    answer = as_organiser.post(page_of(rules.competition), confirmed(data, reason))
    assert answer.context["changes"], "the preview stays"
    assert answer.context["reason"].errors.keys() == {"reason"}
    assert RulesVersion.objects.count() == 1


def test_a_value_set_to_its_default_changes_nothing(as_organiser: Client, rules: RulesVersion) -> None:
    data = opened(as_organiser, rules.competition) | {"opponents": "5"}
    assert errors_of(as_organiser.post(page_of(rules.competition), confirmed(data))).keys() == {"__all__"}
    assert RulesVersion.objects.count() == 1


def test_all_problems_stand_next_to_their_fields(as_organiser: Client, rules: RulesVersion) -> None:
    data = opened(as_organiser, rules.competition) | {
        "query_budget": "1,000", "piece_samples": "65", "classes": "1", "setup_seconds": "nan", "shape": "64, 64",
        "least_accuracy": "1.5", "counting_submission": "the best", "name": "",
    }  # fmt: skip
    found = errors_of(as_organiser.post(page_of(rules.competition), data))
    assert {name: messages[0] for name, messages in found.items()} == {
        "query_budget": "the rule query_budget is '1,000': give a value like 1000",
        "setup_seconds": "the rule setup_seconds is nan: give a value like 100.0",
        "shape": "the rule shape is [64, 64]: give a value like [64, 64, 3]",
        "piece_samples": "the rules are not valid: piece_samples must be from 1 to 64, the most images of a frame: "
        "correct the value",
        "classes": "the rules are not valid: classes must be from 2 to 32,767, the largest int16 label: "
        "correct the value",
        "least_accuracy": "least_accuracy is 1.5: give a number from 0 to 1",
        "counting_submission": "the rule counting_submission is 'the best': write 'newest' or 'chosen'",
    }
    assert RulesVersion.objects.count() == 1


@pytest.mark.parametrize(("field", "value"), [("shape", "32 x 32 x 3"), ("classes", "11"), ("classes", "")])
def test_rules_that_contradict_the_sample_sets_are_a_problem_with_a_fix(
    as_organiser: Client, rules: RulesVersion, sample_sets: dict[str, SampleSet], field: str, value: str
) -> None:
    data = opened(as_organiser, rules.competition) | {field: value}
    found = errors_of(as_organiser.post(page_of(rules.competition), confirmed(data)))
    assert found.keys() == {field}
    assert "differ from those of the imported sample sets: use the values of version 1" in found[field][0]
    assert RulesVersion.objects.count() == 1


@pytest.mark.parametrize("step", [{}, {"confirmed": "yes", "reason": "Mine."}, {"query_budget": "wrong"}])
def test_a_change_of_another_organiser_in_between_is_not_undone(
    as_organiser: Client, superuser: User, rules: RulesVersion, step: dict[str, str]
) -> None:
    competition = rules.competition
    data = opened(as_organiser, competition) | {"query_budget": "80"}
    values = rules.values | {"opponents": 3}
    change_rules(competition=competition, values=values, seen=1, by=superuser, reason="Fewer opponents.")
    answer = as_organiser.post(page_of(competition), data | step, follow=True)
    assert "version 2 is in force since" in messages_of(answer)
    assert answer.context["form"]["opponents"].value() == "3", "the form is that of the version in force"
    assert list(RulesVersion.objects.values_list("version", flat=True)) == [2, 1]


def test_the_change_itself_refuses_what_became_wrong_in_between(olga: User, charlie: User, rules: RulesVersion) -> None:
    change: dict[str, Any] = {"competition": rules.competition, "reason": "Why not."}
    new = rules.values | {"query_budget": 80}
    with pytest.raises(Refusal, match="only organisers of Digits can do this"):
        change_rules(**change, values=new, seen=1, by=charlie)
    with pytest.raises(Refusal, match="version 1 is in force since"):
        change_rules(**change, values=new, seen=2, by=olga)
    with pytest.raises(Refusal, match="these are the rules of version 1"):
        change_rules(**change, values=rules.values, seen=1, by=olga)
    with pytest.raises(Refusal, match="the rule query_budget is 0"):
        change_rules(**change, values=rules.values | {"query_budget": 0}, seen=1, by=olga)
    assert RulesVersion.objects.count() == 1
    assert not Event.objects.exists()


def test_an_organiser_whose_role_is_taken_away_meanwhile_is_refused(
    as_organiser: Client, olga: User, rules: RulesVersion
) -> None:
    competition = rules.competition
    data = opened(as_organiser, competition) | {"query_budget": "80"}
    Organiser.objects.get(competition=competition, user=olga).delete()
    assert as_organiser.post(page_of(competition), confirmed(data)).status_code == 403
    other = Competition.objects.create(
        slug="other", title="Other", starts_at=competition.starts_at, ends_at=competition.ends_at,
        created_at=competition.created_at,
    )  # fmt: skip
    Organiser.objects.create(competition=other, user=olga)
    refused = as_organiser.post(page_of(competition), confirmed(data))
    assert refused.status_code == 403
    assert "Nothing was changed." in refused.content.decode()
    assert RulesVersion.objects.count() == 1


def test_people_who_organise_nothing_do_not_see_it(client: Client, charlie: User, rules: RulesVersion) -> None:
    assert client.get(page_of(rules.competition)).status_code == 302
    client.force_login(charlie)
    assert client.get(page_of(rules.competition), follow=True).status_code == 403
    charlie.is_staff = True
    charlie.save()
    assert client.get(page_of(rules.competition)).status_code == 403


def test_a_competition_without_rules_has_no_such_page(as_organiser: Client, competition: Competition) -> None:
    assert as_organiser.get(page_of(competition)).status_code == 404


def test_the_list_says_who_when_why_and_what_changed(
    as_organiser: Client, olga: User, superuser: User, rules: RulesVersion
) -> None:
    change: dict[str, Any] = {"competition": rules.competition}
    change_rules(**change, by=olga, values=rules.values | {"query_budget": 80}, seen=1, reason="Attacks got better.")
    change_rules(**change, by=superuser, values=rules.values | {"piece_samples": 5}, seen=2, reason="<b>")
    listed = as_organiser.get(reverse("admin:competitions_rulesversion_changelist")).content.decode()
    for text in ("olga", "root", "Attacks got better.", "&lt;b&gt;", "Query budget for each sample: 50 → 80"):
        assert text in listed
    assert "Samples in a piece: 2 → 5<br>Query budget for each sample: 80 → 50" in listed
    newest = RulesVersion.objects.get(version=3)
    detail = as_organiser.get(reverse("admin:competitions_rulesversion_change", args=[newest.pk])).content.decode()
    assert "Samples in a piece: 2 → 5" in detail
    assert "root" in detail


def test_an_import_that_changes_the_rules_is_listed_with_its_author(
    as_superuser: Client, superuser: User, root: Path
) -> None:
    document = tomllib.loads((root / "platform/demo/digits.toml").read_text(encoding="utf-8"))
    import_competition(document, by=superuser)
    document["rules"] |= {"query_budget": 123, "note": "More queries."}
    import_competition(document, by=superuser)
    listed = as_superuser.get(reverse("admin:competitions_rulesversion_changelist")).context["cl"].result_list
    assert [(row.version, row.maker, row.note) for row in listed] == [(2, "root", "More queries."), (1, "root", "")]


def test_add_leads_to_the_form_or_to_the_choice_of_a_competition(
    as_organiser: Client, olga: User, rules: RulesVersion
) -> None:
    competition, add = rules.competition, reverse("admin:competitions_rulesversion_add")
    assert as_organiser.get(add)["Location"] == page_of(competition)
    other = Competition.objects.create(
        slug="other", title="Other", starts_at=competition.starts_at,
        ends_at=competition.starts_at + timedelta(days=1), created_at=competition.created_at,
    )  # fmt: skip
    Organiser.objects.create(competition=other, user=olga)
    answer = as_organiser.get(add, follow=True)
    assert "Choose a competition" in messages_of(answer)


def test_the_competition_links_to_the_form_and_the_form_is_small(as_organiser: Client, rules: RulesVersion) -> None:
    shown = as_organiser.get(reverse("admin:competitions_competition_change", args=[rules.competition_id]))
    assert page_of(rules.competition).rstrip("/") in shown.content.decode()
    page = as_organiser.get(page_of(rules.competition)).content
    assert len(page) < MOST_BYTES
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.decode())
    assert len(set(files)) <= 12, "two fonts and the page come on top: at most 15 requests"
