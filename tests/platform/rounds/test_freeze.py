"""Freezing a round: who is in it, in which order, and when it is refused."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from competitions.models import Competition, Entry
from competitions.pseudonyms import public_name
from core.errors import Fault, Refusal
from core.models import Event
from leaderboards.models import Evaluation, Pool, Standing
from rounds import services, tasks
from rounds.engine_adapter import facts_of, outcome_of
from rounds.engine_adapter import frozen as frozen_entries
from rounds.models import Round
from submissions.models import Player, Submission

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import Hall


def in_window(hall: Hall, round_: Round) -> Round:
    hall.clock.at = round_.window.starts_at + timedelta(minutes=1)
    return round_


def frozen(hall: Hall, kind: str = "top-five") -> Round:
    round_ = in_window(hall, hall.plan(kind))
    services.freeze(round_=round_, by=hall.organiser, reason="on time")
    return round_


def measured(hall: Hall, submission: Submission, value: float | None) -> None:
    """An evaluation that is over now, void by the team's cause where there is no value, on the board at once."""
    pool, _ = Pool.objects.get_or_create(
        track=hall.tracks["untargeted"], number=1, defaults={"made_at": hall.clock.at, "reason": "a test"}
    )
    evaluation = Evaluation.objects.create(
        submission=submission,
        pool=pool,
        sample_set=hall.sources["validation"],
        rules=hall.competition.rules_versions.all()[0],
        created_at=hall.clock.at,
        finished_at=hall.clock.at,
        state="void" if value is None else "scored",
        cause="team" if value is None else "",
        value=value,
    )
    Standing.objects.update_or_create(
        track=submission.repository.track,
        entry=submission.repository.entry,
        defaults={"evaluation": evaluation, "rank": 1},
    )


def test_who_plays_is_committed_to(hall: Hall) -> None:
    """The hash is public from the freeze on; whoever is left out or added later is found out."""
    hall.field(3, 3)
    round_ = hall.plan()
    assert round_.field_commitment == ""
    services.freeze(round_=in_window(hall, round_), by=hall.organiser)
    entries = round_.entries.select_related("track", "player", "submission__repository__entry__team")
    field = [
        [
            *(entry.track.name, entry.order, entry.prior, public_name(hall.competition, entry.player.digest)),
            [[entry.submission.repository.entry.team.slug, entry.submission.commit]],
        ]
        for entry in entries.order_by("track__name", "order")
    ]
    written = json.dumps([round_.field_salt, field], separators=(",", ":"))
    assert round_.field_commitment == hashlib.sha256(written.encode()).hexdigest()
    assert Event.objects.get(verb="freeze").data["field_commitment"] == round_.field_commitment
    services.start(round_=round_, by=hall.organiser)
    left_out = round_.entries.filter(track__name="untargeted").order_by("order").last()
    hall.run(round_)
    assert round_.state == "scored"
    Round.objects.update(state="playing")
    assert left_out is not None
    left_out.delete()
    with pytest.raises(Fault, match="is not what was committed to when it was frozen"):
        outcome_of(round_, facts_of(round_), frozen_entries(round_))


def titles(round_: Round, kind: str, order: str = "order") -> list[str]:
    return list(round_.entries.filter(track__name=kind).order_by(order).values_list("submission__title", flat=True))


def test_it_works(hall: Hall) -> None:
    hall.submission("owls", "model", 3)
    hall.submission("owls", "model", 1)
    hall.submission("bats", "untargeted", 2)
    round_ = frozen(hall)
    assert round_.state == "frozen"
    assert round_.rules is not None
    assert round_.rules.version == 2
    assert titles(round_, "model") == ["owls 1"]  # the newest of the repository
    assert titles(round_, "untargeted") == ["bats 2"]
    event = Event.objects.get(verb="freeze", subject=f"round:{round_.pk}")
    assert (event.by, event.reason, event.data["entries"]) == (hall.organiser, "on time", {"model": 1, "untargeted": 1})


def test_what_counts_is_what_was_ready_when_the_window_began(hall: Hall) -> None:
    hall.submission("owls", "model", 1)
    hall.submission("bats", "untargeted", 1)
    round_ = in_window(hall, hall.plan())
    hall.submission("owls", "model", 2)  # was built in the first minute of the window
    services.freeze(round_=round_, by=hall.organiser)
    assert titles(round_, "model") == ["owls 1"]


@pytest.mark.parametrize("how", ["withdrawn", "disqualified", "refused"])
def test_of_what_is_gone_before_the_newest_other_counts(hall: Hall, how: str) -> None:
    hall.submission("owls", "model", 1)
    gone = hall.submission("owls", "model", 2)
    hall.submission("bats", "untargeted", 1)
    if how == "disqualified":
        Submission.objects.filter(pk=gone.pk).update(disqualified_at=hall.clock.at)
    else:
        Submission.objects.filter(pk=gone.pk).update(state=how)
    assert titles(frozen(hall), "model") == ["owls 1"]


def test_what_is_withdrawn_after_the_freeze_plays_on(hall: Hall) -> None:
    hall.field(2, 2)
    round_ = frozen(hall)
    Submission.objects.filter(title="mo-0 0").update(state="withdrawn")
    services.start(round_=round_, by=hall.organiser)
    hall.run(round_)
    assert round_.state == "scored"
    assert titles(round_, "model", "place") == ["mo-0 0", "mo-1 1"]


@pytest.mark.parametrize("bundled", [False, True])
def test_equal_digests_are_one_player_of_the_team_that_entered_it_first(hall: Hall, bundled: bool) -> None:
    """What is bundled belongs to nobody: else a team could free its attack of it with a copy."""
    hall.field(2, 2)
    hall.submission("owls", "model", 0)  # the same content as mo-0's
    hall.submission("owls", "untargeted", 7)
    hall.submission("mo-0", "untargeted", 8)
    if not bundled:
        repository = Submission.objects.earliest("pk").repository
        Player.objects.update(repository=repository, baseline="")
    round_ = hall.scored(hall.plan(samples=8))
    twins = round_.entries.filter(player__title="model 0")
    assert {(entry.place, entry.value) for entry in twins} == {(1, twins[0].value)}
    assert twins.count() == 2
    # owls entered it after mo-0: their attack is scored by it, and that of mo-0 is not
    attacks = round_.entries.filter(track__name="untargeted", place__isnull=False)
    of = {row.submission.title: (row.met, row.opponents) for row in attacks.select_related("submission")}
    assert (of["owls 7"], of["mo-0 8"]) == ((2, 2), (2, 2) if bundled else (1, 2))


def test_the_board_seats_the_first_panel_then_baselines_then_the_order_of_entry(hall: Hall) -> None:
    for slug, number in (("ants", 4), ("bats", 3), ("cats", 2), ("dogs", 1)):
        submission = hall.submission(slug, "model", number)
        if slug != "bats":
            Player.objects.filter(submissions=submission).update(repository=submission.repository, baseline="")
    hall.submission("eels", "untargeted", 1)
    dogs = Submission.objects.get(title="dogs 1")
    measured(hall, dogs, 1.0)
    round_ = frozen(hall)
    assert titles(round_, "model") == ["ants 4", "bats 3", "cats 2", "dogs 1"]
    assert titles(round_, "model", "prior") == ["dogs 1", "bats 3", "ants 4", "cats 2"]


def test_what_is_scored_after_the_window_began_changes_nothing_however_late_it_is_frozen(hall: Hall) -> None:
    ants, bats, cats = (hall.submission(slug, "model", 4) for slug in ("ants", "bats", "cats"))
    hall.submission("eels", "untargeted", 1)
    measured(hall, ants, 1.0)
    measured(hall, bats, 2.0)
    round_ = in_window(hall, hall.plan())
    measured(hall, ants, 9.0)
    measured(hall, cats, 8.0)
    measured(hall, bats, None)
    services.freeze(round_=round_, by=hall.organiser)
    assert titles(round_, "model", "prior") == ["bats 4", "ants 4", "cats 4"]


@pytest.mark.parametrize(("models", "attacks"), [(1, 1), (4, 9), (9, 4)])
def test_fewer_than_ten_or_five_play_with_those_there_are(hall: Hall, models: int, attacks: int) -> None:
    hall.field(models, attacks)
    round_ = hall.scored(hall.plan(samples=8))
    assert round_.state == "scored"
    assert titles(round_, "model", "place")[0] == "mo-0 0"
    assert len(titles(round_, "untargeted", "place")) == attacks


@pytest.mark.parametrize(("models", "attacks", "missing"), [(0, 3, "model"), (3, 0, "untargeted")])
def test_it_rejects_a_side_without_a_ready_submission(hall: Hall, models: int, attacks: int, missing: str) -> None:
    hall.field(models, attacks, 2)
    with pytest.raises(Refusal, match=f"no submission to the {missing} track"):
        frozen(hall)
    assert not Round.objects.exclude(state="planned").exists()


def test_it_rejects_a_field_of_one_team(hall: Hall) -> None:
    hall.submission("owls", "model", 1)
    hall.submission("owls", "untargeted", 1)
    hall.submission("bats", "targeted", 1)
    with pytest.raises(Refusal, match="all entries are of one team"):
        frozen(hall)


def test_it_rejects_a_field_of_one_team_and_a_copy_of_its_attack(hall: Hall) -> None:
    hall.submission("owls", "model", 1)
    hall.submission("owls", "untargeted", 1)
    hall.submission("bats", "untargeted", 1)
    with pytest.raises(Refusal, match="copies of what it sent"):
        frozen(hall)


def test_it_rejects_before_its_window_begins(hall: Hall) -> None:
    hall.field(2, 2)
    round_ = hall.plan()
    with pytest.raises(Refusal, match="begins only at") as refusal:
        services.freeze(round_=round_, by=hall.organiser)
    assert refusal.value.fix == "open it now"


def test_a_window_that_nobody_saw_is_frozen_by_hand_as_it_began(hall: Hall) -> None:
    hall.field(2, 2)
    round_ = hall.plan()
    hall.clock.at = round_.window.ends_at  # the site was down meanwhile
    hall.submission("mo-1", "model", 7)
    tasks.sweep()
    round_.refresh_from_db()
    assert round_.state == "planned"
    assert "was over at" in round_.problem
    assert "freeze it by hand" in round_.problem
    services.freeze(round_=round_, by=hall.organiser, reason="the site was down")
    assert (round_.state, round_.problem) == ("frozen", "")
    assert titles(round_, "model") == ["mo-1 1", "mo-0 0"]


def test_it_rejects_while_another_round_is_under_way(hall: Hall) -> None:
    hall.field(2, 2)
    second = hall.plan(source="test-2", title="Second", day=1)
    hall.begin(hall.plan(title="First"))
    in_window(hall, second)
    with pytest.raises(Refusal, match="First is playing"):
        services.freeze(round_=second, by=hall.organiser)


def test_it_rejects_whoever_is_no_organiser(hall: Hall, alice: User) -> None:
    hall.field(2, 2)
    with pytest.raises(Refusal, match="only organisers"):
        services.freeze(round_=in_window(hall, hall.plan()), by=alice)


def test_the_sweep_freezes_what_is_due(hall: Hall) -> None:
    hall.field(2, 2)
    round_ = hall.plan()
    tasks.sweep()
    round_.refresh_from_db()
    assert round_.state == "planned"
    in_window(hall, round_)
    tasks.sweep()
    round_.refresh_from_db()
    assert round_.state == "frozen"
    assert Event.objects.get(verb="freeze").by is None


def test_the_sweep_says_once_what_keeps_it_from_freezing(hall: Hall) -> None:
    round_ = in_window(hall, hall.plan())
    for _ in range(3):
        tasks.sweep()
    round_.refresh_from_db()
    assert round_.state == "planned"
    assert "no submission to the model track" in round_.problem
    assert Event.objects.filter(verb="stop").count() == 1
    hall.field(2, 2)
    Submission.objects.update(state_since=round_.window.starts_at)
    tasks.sweep()
    round_.refresh_from_db()
    assert (round_.state, round_.problem) == ("frozen", "")


@pytest.mark.parametrize(
    ("kind", "policy", "licence", "prizes", "because"),
    [
        ("final", "open-source", "MIT", True, ""),
        ("final", "open-source", "LicenseRef-mine", True, "not known to be open source: LicenseRef-mine"),
        ("final", "open-source", "", True, "not known to be open source: none was found"),
        ("final", "any", "LicenseRef-mine", True, ""),
        ("top-five", "open-source", "LicenseRef-mine", True, ""),
        ("final", "open-source", "MIT", False, "takes part without prizes"),
    ],
)
def test_who_may_win_prizes(hall: Hall, kind: str, policy: str, licence: str, prizes: bool, because: str) -> None:
    Competition.objects.update(licence_policy=policy)
    hall.field(1, 2)
    hall.submission("owls", "model", 2, licence=licence)
    Entry.objects.filter(team__slug="owls").update(ineligible_for_prizes=not prizes)
    round_ = hall.scored(hall.plan(kind, samples=8))
    entry = round_.entries.get(submission__title="owls 2")
    assert entry.eligible == (not because)
    assert because in entry.ineligible_because
    assert entry.place == 2  # ranked in any case
