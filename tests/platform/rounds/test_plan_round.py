"""Planning a round: its window, its samples, and the promise about them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from accounts.models import User
from competitions import sample_store
from competitions.models import SampleSet
from competitions.sample_store import samples_of
from competitions.services import commitment_of
from core import clock
from core.errors import Refusal
from core.models import Event
from evaluation.bundle import size
from evaluation.domain.samples import Sample
from matches.services import ensure_match
from rounds import salts, services
from rounds.models import Round

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.platform.rounds.conftest import Hall


def asked(hall: Hall, **others: Any) -> dict[str, Any]:
    return {
        "competition": hall.competition,
        "title": "Round 1",
        "kind": "top-five",
        "schedule": "ladder",
        "guard": False,
        "source": hall.sources["test"],
        "samples": 16,
        "starts_at": clock.now() + timedelta(days=1),
        "ends_at": clock.now() + timedelta(days=3),
        "by": hall.organiser,
    } | others


def test_it_works(hall: Hall) -> None:
    round_ = services.plan_round(**asked(hall, reason="as announced"))
    assert (round_.number, round_.state, round_.sample_set.count) == (1, "planned", 16)
    assert round_.sample_set.drawn_from == hall.sources["test"]
    assert round_.sample_set.digest != hall.sources["test"].digest
    assert round_.commitment == commitment_of(round_.sample_set, round_.salt)
    assert (round_.window.starts_at, round_.window.ends_at) == (asked(hall)["starts_at"], asked(hall)["ends_at"])
    event = Event.objects.get(verb="plan", subject=f"round:{round_.pk}")
    assert (event.by, event.reason) == (hall.organiser, "as announced")
    assert round_.salt not in str(event.data)


def test_each_round_has_a_number_and_a_salt_of_its_own(
    hall: Hall, monkeypatch: pytest.MonkeyPatch, site_salts: Callable[[], str]
) -> None:
    monkeypatch.setattr(salts, "new_salt", site_salts)
    first = services.plan_round(**asked(hall))
    second = hall.plan(source="test-2", day=9)
    assert (first.number, second.number) == (1, 2)
    assert len({first.salt, second.salt}) == 2


def test_nobody_chooses_the_salt_and_each_try_stays_listed(hall: Hall) -> None:
    with pytest.raises(TypeError, match="salt"):
        services.plan_round(**asked(hall, salt="7" * 64))
    first = services.plan_round(**asked(hall))
    services.cancel(round_=first, by=hall.organiser, reason="I do not like the order.")
    services.plan_round(**asked(hall))
    assert [(each.number, each.state) for each in Round.objects.order_by("pk")] == [(1, "cancelled"), (2, "planned")]


def test_an_imported_set_may_be_called_as_a_round_would_call_its_own(hall: Hall) -> None:
    SampleSet.objects.filter(pk=hall.sources["test-2"].pk).update(name="round-1")
    assert services.plan_round(**asked(hall)).sample_set.name == "round-1-2"


def test_a_cancelled_round_leaves_the_calendar_free(hall: Hall) -> None:
    first = hall.plan()
    assert hall.plan(source="test-2", day=1).state == "planned"
    with pytest.raises(Refusal, match="overlaps the freeze window"):
        hall.plan(source="final", kind="final")
    services.cancel(round_=first, by=hall.organiser, reason="another day")
    first.window.refresh_from_db()
    assert first.window.called_off_at == clock.now()
    assert hall.plan(source="final", kind="final").state == "planned"


def test_an_equal_salt_draws_equal_samples(hall: Hall) -> None:
    first = hall.plan()
    services.cancel(round_=first, by=hall.organiser, reason="once more")
    again = hall.plan()
    assert again.sample_set.digest == first.sample_set.digest


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ({"title": "  "}, "a title of 1 to 120"),
        ({"title": "x" * 121}, "a title of 1 to 120"),
        ({"kind": "friendly"}, "no kind of round"),
        ({"schedule": "lottery"}, "no schedule"),
        ({"schedule": "halving", "guard": True}, "knows no guard"),
        ({"kind": "final"}, "plays on samples for final"),
        ({"samples": 0}, "40 samples, not 0"),
        ({"samples": 41}, "40 samples, not 41"),
    ],
)
def test_it_rejects_what_cannot_be(hall: Hall, others: dict[str, Any], problem: str) -> None:
    with pytest.raises(Refusal, match=problem) as refusal:
        services.plan_round(**asked(hall, **others))
    assert refusal.value.fix
    assert not Round.objects.exists()
    assert not hall.competition.freeze_windows.exists()


def test_it_rejects_samples_of_another_purpose(hall: Hall) -> None:
    with pytest.raises(Refusal, match="plays on samples for test"):
        services.plan_round(**asked(hall, source=hall.sources["final"]))


def test_it_rejects_a_draw_of_a_draw(hall: Hall) -> None:
    with pytest.raises(Refusal, match="no imported set"):
        services.plan_round(**asked(hall, source=hall.plan().sample_set))


def test_it_rejects_samples_of_another_round_until_that_is_cancelled(hall: Hall) -> None:
    first = hall.plan(title="First")
    with pytest.raises(Refusal, match="drawn for First already"):
        services.plan_round(**asked(hall))
    services.cancel(round_=first, by=hall.organiser, reason="a slip")
    assert services.plan_round(**asked(hall)).number == 2


def test_it_rejects_more_samples_than_a_bundle_holds(hall: Hall) -> None:
    hall.sources["test"].count = 10_001
    with pytest.raises(Refusal, match="at most 10,000 samples, not 10,001"):
        services.plan_round(**asked(hall, samples=10_001))


def test_it_rejects_a_round_that_could_not_be_verified_afterwards(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the players that there are when it is planned, and once more with those that it is frozen with."""
    monkeypatch.setattr(size, "MOST_TRIPLES", 4 * 4 * 16)
    hall.field(4, 4)
    round_ = services.plan_round(**asked(hall))
    hall.submission("late", "model", 4)
    services.cancel(round_=round_, by=hall.organiser, reason="once more")
    with pytest.raises(Refusal, match="5 models, 4 attacks and 16 samples are more than the 256 results") as refusal:
        services.plan_round(**asked(hall))
    assert refusal.value.fix == "draw fewer samples"
    small = services.plan_round(**asked(hall, samples=12))
    hall.submission("later", "model", 5)
    hall.clock.at = small.window.starts_at
    with pytest.raises(Refusal, match="6 models, 4 attacks and 12 samples"):
        services.freeze(round_=small, by=hall.organiser)
    small.refresh_from_db()
    assert (small.state, small.entries.count()) == ("planned", 0)


def test_it_rejects_samples_that_were_ever_played(hall: Hall) -> None:
    hall.field(1, 1)
    ensure_match(
        rules=hall.competition.rules_versions.order_by("-version")[0],
        sample_set=hall.sources["test"],
        model=hall.player("model", 0),
        attack=hall.player("untargeted", 0),
    )
    with pytest.raises(Refusal, match="secret no more"):
        services.plan_round(**asked(hall))


def test_it_rejects_the_samples_of_a_round_that_was_cancelled_after_it_played(hall: Hall) -> None:
    hall.field(2, 2)
    round_ = hall.begin(hall.plan())
    services.advance_round(round_)
    services.cancel(round_=round_, by=hall.organiser, reason="too late")
    with pytest.raises(Refusal, match="secret no more"):
        services.plan_round(**asked(hall))


@pytest.mark.django_db(transaction=True)
def test_images_are_read_while_nobody_waits_for_the_database(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = []

    def reading(sample_set: SampleSet) -> tuple[Sample, ...]:
        inside.append(connection.in_atomic_block)
        return samples_of(sample_set)

    monkeypatch.setattr(sample_store, "samples_of", reading)
    hall.plan()
    assert set(inside) == {False}


def test_it_rejects_whoever_is_no_organiser(hall: Hall, alice: User) -> None:
    with pytest.raises(Refusal, match="only organisers"):
        services.plan_round(**asked(hall, by=alice))
