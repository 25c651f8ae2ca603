"""Rounds that the import of a competition's file plans."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.freeze_windows import open_window
from competitions.models import Competition
from competitions.services import export_competition, import_competition
from core.errors import Refusal
from core.models import Event
from rounds.models import Round
from rounds.running import lifecycle
from tests.platform.competitions.test_planned_rounds_in_file import table, with_rounds
from tests.platform.conftest import FakeClock

ROUNDS = (
    table("Round 1", "test-1", schedule="halving"),
    table("Final", "final", 40, kind="final", schedule="ladder-2", samples=8),
)


@pytest.fixture
def imported(db: None, the_clock: FakeClock) -> Competition:
    return import_competition(with_rounds(*ROUNDS))


def test_an_import_plans_the_rounds_of_the_file_once_and_the_export_has_them(imported: Competition) -> None:
    first, final = imported.rounds.order_by("number")
    assert [first.title, first.kind, first.schedule, first.state] == ["Round 1", "development", "halving", "planned"]
    assert (first.window.starts_at, first.window.ends_at) == (ROUNDS[0]["starts_at"], ROUNDS[0]["ends_at"])
    assert [final.kind, final.sample_set.count] == ["final", 8]
    assert final.sample_set.drawn_from == imported.sample_sets.get(name="final")
    assert Event.objects.filter(verb="plan", subject=f"round:{first.pk}", by=None).exists()
    written = export_competition(imported)
    assert written == with_rounds(*ROUNDS), "and its windows are not written once more"
    import_competition(written)
    assert Round.objects.count() == 2


def test_days_for_objections_are_those_of_the_competition_or_of_the_round(db: None, the_clock: FakeClock) -> None:
    about = with_rounds()["competition"] | {"objection_days": 7}
    document = with_rounds(ROUNDS[0], ROUNDS[1] | {"objection_days": 14}, competition=about)
    made = import_competition(document)
    assert list(made.rounds.order_by("number").values_list("objection_days", flat=True)) == [7, 14]
    assert export_competition(made) == document
    import_competition(with_rounds(*ROUNDS, competition=about | {"objection_days": 3}))
    assert list(made.rounds.order_by("number").values_list("objection_days", flat=True)) == [7, 14], "they are public"
    with pytest.raises(Refusal, match="with other values"):
        import_competition(with_rounds(ROUNDS[0], ROUNDS[1] | {"objection_days": 13}, competition=about))
    with pytest.raises(Refusal, match="objection_days: 91 is not valid"):
        import_competition(with_rounds(competition=about | {"objection_days": 91}))


def test_a_later_import_changes_no_round(imported: Competition, the_clock: FakeClock, root_user: User) -> None:
    first, final = imported.rounds.order_by("number")
    lifecycle.cancel(round_=final, by=root_user, reason="It rains.")
    open_window(window=first.window, by=root_user, reason="Everything is ready.")
    the_clock.at = ROUNDS[0]["ends_at"] + timedelta(days=9)
    Round.objects.filter(pk=first.pk).update(state=Round.State.PUBLISHED)
    import_competition(with_rounds(*ROUNDS))
    assert [each.state for each in imported.rounds.order_by("number")] == ["published", "cancelled"]
    import_competition(with_rounds(ROUNDS[0], ROUNDS[1] | {"title": "Final, again"}))
    assert list(imported.rounds.order_by("number").values_list("title", "state"))[2] == ("Final, again", "planned")


@pytest.mark.parametrize(
    ("state", "others", "problem", "fix"),
    [
        ("planned", {"schedule": "ladder"}, "is already planned on 'test-1', with other values", "cancel that round"),
        ("planned", {"title": "Round One"}, "'Round 1' is already planned on 'test-1'", "another title"),
        ("published", {"samples": 9}, "is already published on 'test-1', with other values", "another sample set"),
        (
            "published",
            {"starts_at": ROUNDS[0]["starts_at"] + timedelta(hours=1)},
            r"number 1 \(Round 1\): .* with other times",
            "leave it as it was",
        ),
    ],
)
def test_it_rejects_other_values_for_a_planned_round(
    imported: Competition, state: str, others: dict[str, Any], problem: str, fix: str
) -> None:
    imported.rounds.update(state=state)
    with pytest.raises(Refusal, match=problem) as refused:
        import_competition(with_rounds(ROUNDS[0] | others, ROUNDS[1]))
    assert fix in refused.value.fix


def test_it_rejects_a_round_in_the_past_and_keeps_nothing(db: None, the_clock: FakeClock) -> None:
    the_clock.at = ROUNDS[0]["starts_at"] + timedelta(minutes=1)
    with pytest.raises(
        Refusal, match=r"number 1 \(Round 1\) starts_at: 2030-05-01 00:00 UTC is in the past"
    ) as refused:
        import_competition(with_rounds(*ROUNDS))
    assert "--starts" in refused.value.fix
    assert not Competition.objects.exists()


def test_it_rejects_a_window_that_overlaps_one_that_is_planned(imported: Competition) -> None:
    added = table("Round 2", "test-2", 1)
    with pytest.raises(Refusal, match="overlaps"):
        import_competition(with_rounds(*ROUNDS, added))
    lifecycle.cancel(
        round_=imported.rounds.get(number=1),
        by=User.objects.create_superuser("root"),
        reason="Round 2 takes its place.",
    )
    import_competition(with_rounds(ROUNDS[1], added))
    with pytest.raises(Refusal, match=r"number 1 \(Round 3\): it overlaps the freeze window 'Round 2'"):
        import_competition(with_rounds(table("Round 3", "test-1", 2), ROUNDS[1]))


def test_it_rejects_samples_that_share_images_with_others(db: None, the_clock: FakeClock) -> None:
    document = with_rounds(*ROUNDS)
    for each in document["sample_sets"]:
        each |= {"split": "test-1"}
    with pytest.raises(Refusal, match=r"number 1 \(Round 1\): digits/test-1 shares images with digits/development"):
        import_competition(document)
    assert not Competition.objects.exists()


def test_no_later_set_makes_the_images_of_a_planned_round_public(imported: Competition, root_user: User) -> None:
    document = with_rounds(*ROUNDS)
    used = next(each for each in document["sample_sets"] if each["name"] == ROUNDS[0]["sample_set"])
    document["sample_sets"].append({**used, "name": "dev-2", "purpose": "development"})
    with pytest.raises(Refusal, match=r"dev-2: it would make images public with which a round .* of digits/round-1"):
        import_competition(document)
    assert not imported.sample_sets.filter(name="dev-2").exists()
    lifecycle.cancel(round_=imported.rounds.get(number=1), by=root_user, reason="These images are for everybody.")
    import_competition(document | {"rounds": [ROUNDS[1]]})
    assert imported.sample_sets.get(name="dev-2").purpose == "development"


def test_no_set_becomes_public_that_has_images_of_a_planned_round(
    db: None, the_clock: FakeClock, root_user: User, client: Client
) -> None:
    document = with_rounds(*ROUNDS)
    used = next(each for each in document["sample_sets"] if each["name"] == ROUNDS[0]["sample_set"])
    document["sample_sets"].append({**used, "name": "test-3"})
    imported = import_competition(document)
    client.force_login(root_user)
    page = reverse("admin:competitions_sampleset_change", args=[imported.sample_sets.get(name="test-3").pk])
    form = {"name": "test-3", "purpose": "development"}
    errors = client.post(page, form).context["adminform"].form.errors["purpose"]
    assert "it would make images public with which a round is still to be played, those of digits/round-1" in errors[0]
    lifecycle.cancel(round_=imported.rounds.get(number=1), by=root_user, reason="These images are for everybody.")
    assert client.post(page, form).status_code == 302
    assert imported.sample_sets.get(name="test-3").purpose == "development"
