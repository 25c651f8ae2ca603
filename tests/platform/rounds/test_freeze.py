"""Freezing a round: its entries, their order, and rejections."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import rfc8785

from accounts.models import Membership
from competitions.models import Competition, Entry
from competitions.pseudonyms import public_name
from core import clock
from core.errors import Fault, Refusal
from core.models import Event
from evaluation.formats.query.bundle.verify import verify
from evaluation.formats.query.rules import QueryRules
from formats.query.leaderboards.choose_submission import choose, choose_newest
from formats.query.leaderboards.models import Evaluation, Pool, Standing
from formats.query.rounds.round_as_engine_values import facts_of, outcome_of
from rounds import tasks
from rounds.models import Round
from rounds.planning.entries import eligible_entries
from rounds.planning.entries import frozen as frozen_entries
from rounds.planning.freeze import freeze
from rounds.publishing.licence_review import confirm_licence
from rounds.publishing.publication import publish
from rounds.release.signing_keys import public_key
from rounds.running import lifecycle
from submissions.models import Player, Submission
from submissions.services import make_baseline, withdraw
from tests.platform.bundle_content import bundle_content

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import RoundFixture


def in_window(env: RoundFixture, round_: Round) -> Round:
    env.clock.at = round_.window.starts_at + timedelta(minutes=1)
    return round_


def frozen(env: RoundFixture, kind: str = "development") -> Round:
    round_ = in_window(env, env.plan(kind))
    freeze(round_=round_, by=env.organiser, reason="on time")
    return round_


def measured(env: RoundFixture, submission: Submission, value: float | None) -> None:
    """Create an evaluation that ends now, void by the team's fault without a value, and update the board."""
    pool, _ = Pool.objects.get_or_create(
        track=env.tracks["untargeted"], number=1, defaults={"made_at": env.clock.at, "reason": "a test"}
    )
    evaluation = Evaluation.objects.create(
        submission=submission,
        pool=pool,
        sample_set=env.sources["validation"],
        rules=env.competition.rules_versions.all()[0],
        created_at=env.clock.at,
        finished_at=env.clock.at,
        state="void" if value is None else "scored",
        cause="team" if value is None else "",
        value=value,
    )
    Standing.objects.update_or_create(
        track=submission.repository.track,
        entry=submission.repository.entry,
        defaults={"evaluation": evaluation, "rank": 1},
    )


def test_the_entries_are_committed_to(env: RoundFixture) -> None:
    """The hash is public from the freeze on; a later omission or addition is detected."""
    env.field(3, 3)
    round_ = env.plan()
    assert round_.field_commitment == ""
    freeze(round_=in_window(env, round_), by=env.organiser)
    entries = round_.entries.select_related("track", "player", "submission__repository__entry__team")
    assert round_.rules is not None
    field: list[Any] = [
        [
            *(entry.track.name, entry.order, entry.prior, public_name(env.competition, entry.player.digest)),
            entry.bundled,
            [entry.submission.repository.entry.team.slug],
            [
                [
                    *(entry.submission.repository.entry.team.slug, entry.submission.commit, entry.submission.licence),
                    entry.eligible,
                ]
            ],
        ]
        for entry in entries.order_by("track__name", "order")
    ]
    rules: dict[str, Any] = {
        "guard": round_.guard,
        "round_kind": round_.kind,
        "rules": round_.rules.rules_as(QueryRules).as_dict(),
        "rules_version": round_.rules.version,
        "samples": round_.sample_set.count,
        "schedule": round_.schedule,
        "sweep": True,
    }
    digest = hashlib.sha256(rfc8785.dumps(rules)).hexdigest()
    written = rfc8785.dumps([round_.field_salt, digest, field])
    assert round_.field_commitment == hashlib.sha256(written).hexdigest()
    assert Event.objects.get(verb="freeze").data["field_commitment"] == round_.field_commitment
    lifecycle.start(round_=round_, by=env.organiser)
    left_out = round_.entries.filter(track__name="untargeted").order_by("order").last()
    env.run(round_)
    assert round_.state == "scored"
    Round.objects.update(state="playing")
    assert left_out is not None
    left_out.delete()
    with pytest.raises(Fault, match="differ from the commitment made at its freeze"):
        outcome_of(round_, facts_of(round_), frozen_entries(round_))


def titles(round_: Round, kind: str, order: str = "order") -> list[str]:
    return list(round_.entries.filter(track__name=kind).order_by(order).values_list("submission__title", flat=True))


def test_the_newest_submission_of_each_repository_enters_in_its_track(env: RoundFixture) -> None:
    env.submission("owls", "model", 3)
    env.submission("owls", "model", 1)
    env.submission("bats", "untargeted", 2)
    round_ = frozen(env)
    assert round_.state == "frozen"
    assert round_.rules is not None
    assert round_.rules.version == 2
    assert titles(round_, "model") == ["owls 1"]  # the newest of the repository
    assert titles(round_, "untargeted") == ["bats 2"]
    event = Event.objects.get(verb="freeze", subject=f"round:{round_.pk}")
    assert (event.by, event.reason, event.data["entries"]) == (env.organiser, "on time", {"model": 1, "untargeted": 1})


def test_what_counts_is_what_was_ready_when_the_window_began(env: RoundFixture) -> None:
    env.submission("owls", "model", 1)
    env.submission("bats", "untargeted", 1)
    round_ = in_window(env, env.plan())
    env.submission("owls", "model", 2)  # was built in the first minute of the window
    freeze(round_=round_, by=env.organiser)
    assert titles(round_, "model") == ["owls 1"]


@pytest.mark.parametrize("how", ["withdrawn", "disqualified", "rejected"])
def test_the_next_newest_counts_if_the_newest_is_gone_before(env: RoundFixture, how: str) -> None:
    env.submission("owls", "model", 1)
    gone = env.submission("owls", "model", 2)
    env.submission("bats", "untargeted", 1)
    if how == "disqualified":
        Submission.objects.filter(pk=gone.pk).update(disqualified_at=env.clock.at)
    else:
        Submission.objects.filter(pk=gone.pk).update(state=how)
    assert titles(frozen(env), "model") == ["owls 1"]


def test_an_entry_withdrawn_after_the_freeze_continues_to_play(env: RoundFixture) -> None:
    env.field(2, 2)
    round_ = frozen(env)
    Submission.objects.filter(title="mo-0 0").update(state="withdrawn")
    lifecycle.start(round_=round_, by=env.organiser)
    env.run(round_)
    assert round_.state == "scored"
    assert titles(round_, "model", "place") == ["mo-0 0", "mo-1 1"]


@pytest.mark.parametrize("bundled", [False, True])
def test_equal_digests_are_one_player_of_the_first_team(env: RoundFixture, bundled: bool) -> None:
    """A bundled player has no owner: otherwise a team could exclude it from its attack's score with a copy."""
    env.field(2, 2)
    env.submission("owls", "model", 0)  # the same content as mo-0's
    env.submission("owls", "untargeted", 7)
    env.submission("mo-0", "untargeted", 8)
    if not bundled:
        repository = Submission.objects.earliest("pk").repository
        Player.objects.update(repository=repository, baseline="")
    round_ = env.scored(env.plan(samples=8))
    twins = round_.entries.filter(player__title="model 0")
    assert {(entry.place, entry.value) for entry in twins} == {(1, twins[0].value)}
    assert twins.count() == 2
    # owls entered it after mo-0: their attack is scored by it, and that of mo-0 is not
    attacks = round_.entries.filter(track__name="untargeted", place__isnull=False)
    of = {row.submission.title: (row.met, row.opponents) for row in attacks.select_related("submission")}
    assert (of["owls 7"], of["mo-0 8"]) == ((2, 2), (2, 2) if bundled else (1, 2))


def test_the_initial_seeding_is_the_board_then_baselines_then_the_order_of_entry(env: RoundFixture) -> None:
    for slug, number in (("ants", 4), ("bats", 3), ("cats", 2), ("dogs", 1)):
        submission = env.submission(slug, "model", number)
        if slug != "bats":
            Player.objects.filter(submissions=submission).update(repository=submission.repository, baseline="")
    env.submission("eels", "untargeted", 1)
    dogs = Submission.objects.get(title="dogs 1")
    measured(env, dogs, 1.0)
    round_ = frozen(env)
    assert titles(round_, "model") == ["ants 4", "bats 3", "cats 2", "dogs 1"]
    assert titles(round_, "model", "prior") == ["dogs 1", "bats 3", "ants 4", "cats 2"]


def test_scores_after_the_start_of_the_window_change_nothing(env: RoundFixture) -> None:
    ants, bats, cats = (env.submission(slug, "model", 4) for slug in ("ants", "bats", "cats"))
    env.submission("eels", "untargeted", 1)
    measured(env, ants, 1.0)
    measured(env, bats, 2.0)
    round_ = in_window(env, env.plan())
    measured(env, ants, 9.0)
    measured(env, cats, 8.0)
    measured(env, bats, None)
    freeze(round_=round_, by=env.organiser)
    assert titles(round_, "model", "prior") == ["bats 4", "ants 4", "cats 4"]


@pytest.mark.parametrize(("models", "attacks"), [(1, 1), (4, 9), (9, 4)])
def test_rounds_with_fewer_than_ten_or_five_entries_play(env: RoundFixture, models: int, attacks: int) -> None:
    env.field(models, attacks)
    round_ = env.scored(env.plan(samples=8))
    assert round_.state == "scored"
    assert titles(round_, "model", "place")[0] == "mo-0 0"
    assert len(titles(round_, "untargeted", "place")) == attacks


@pytest.mark.parametrize(("models", "attacks", "missing"), [(0, 3, "model"), (3, 0, "untargeted")])
def test_it_rejects_a_side_without_a_ready_submission(
    env: RoundFixture, models: int, attacks: int, missing: str
) -> None:
    env.field(models, attacks, 2)
    with pytest.raises(Refusal, match=f"no submission to the {missing} track"):
        frozen(env)
    assert not Round.objects.exclude(state="planned").exists()


def test_it_rejects_a_field_of_one_team(env: RoundFixture) -> None:
    env.submission("owls", "model", 1)
    env.submission("owls", "untargeted", 1)
    env.submission("bats", "targeted", 1)
    with pytest.raises(Refusal, match="all entries belong to one team"):
        frozen(env)


def test_it_rejects_a_field_of_one_team_and_a_copy_of_its_attack(env: RoundFixture) -> None:
    env.submission("owls", "model", 1)
    env.submission("owls", "untargeted", 1)
    env.submission("bats", "untargeted", 1)
    with pytest.raises(Refusal, match="are copies"):
        frozen(env)


def test_it_rejects_before_its_window_begins(env: RoundFixture) -> None:
    env.field(2, 2)
    round_ = env.plan()
    with pytest.raises(Refusal, match="window begins at") as refusal:
        freeze(round_=round_, by=env.organiser)
    assert refusal.value.fix == "open it now"


def test_a_missed_window_is_frozen_manually_as_it_began(env: RoundFixture) -> None:
    env.field(2, 2)
    round_ = env.plan()
    env.clock.at = round_.window.ends_at  # the site was down meanwhile
    env.submission("mo-1", "model", 7)
    tasks.sweep()
    round_.refresh_from_db()
    assert round_.state == "planned"
    assert "window ended at" in round_.problem
    assert "freeze it manually" in round_.problem
    freeze(round_=round_, by=env.organiser, reason="the site was down")
    assert (round_.state, round_.problem) == ("frozen", "")
    assert titles(round_, "model") == ["mo-1 1", "mo-0 0"]


def test_it_rejects_while_another_round_is_under_way(env: RoundFixture) -> None:
    env.field(2, 2)
    second = env.plan(source="test-2", title="Second", day=1)
    env.begin(env.plan(title="First"))
    in_window(env, second)
    with pytest.raises(Refusal, match="First is playing"):
        freeze(round_=second, by=env.organiser)


def test_the_sweep_freezes_what_is_due(env: RoundFixture) -> None:
    env.field(2, 2)
    round_ = env.plan()
    tasks.sweep()
    round_.refresh_from_db()
    assert round_.state == "planned"
    in_window(env, round_)
    tasks.sweep()
    round_.refresh_from_db()
    assert round_.state == "frozen"
    assert Event.objects.get(verb="freeze").by is None


def test_the_sweep_reports_once_why_it_cannot_freeze(env: RoundFixture) -> None:
    round_ = in_window(env, env.plan())
    for _ in range(3):
        tasks.sweep()
    round_.refresh_from_db()
    assert round_.state == "planned"
    assert "no submission to the model track" in round_.problem
    assert Event.objects.filter(verb="stop").count() == 1
    env.field(2, 2)
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
        ("development", "open-source", "LicenseRef-mine", True, ""),
        ("final", "open-source", "MIT", False, "takes part without prizes"),
    ],
)
def test_who_may_win_prizes(
    env: RoundFixture, kind: str, policy: str, licence: str, prizes: bool, because: str
) -> None:
    Competition.objects.update(licence_policy=policy)
    env.field(1, 2)
    env.submission("owls", "model", 2, licence=licence)
    Entry.objects.filter(team__slug="owls").update(ineligible_for_prizes=not prizes)
    round_ = env.scored(env.plan(kind, samples=8))
    entry = round_.entries.get(submission__title="owls 2")
    assert entry.eligible == (not because)
    assert because in entry.ineligible_because
    assert entry.place == 2  # ranked in any case


def test_the_chosen_submission_plays_and_later_choices_change_nothing(env: RoundFixture) -> None:
    """What a team chose when the window began decides; the choice is made before, or it is for the next round."""
    env.field(2, 2)
    for rules in env.competition.rules_versions.all():
        rules.values["counting_submission"] = "chosen"
        rules.save()
    older = Submission.objects.filter(repository__track__name="model").order_by("pk")[0]
    newer = env.submission(older.repository.entry.team.slug, "model", 9)
    for submission in (older, newer):
        measured(env, submission, 1.0)
    captain = newer.submitted_by
    Membership.objects.get_or_create(
        team=older.repository.entry.team, user=captain, defaults={"role": "captain", "joined_at": env.clock.at}
    )
    choose(submission=older, by=captain)
    round_ = in_window(env, env.plan())
    choose_newest(repository=older.repository, by=captain)
    freeze(round_=round_, by=env.organiser)
    entries = round_.entries.filter(track__name="model").values_list("submission", flat=True)
    assert older.pk in entries
    assert newer.pk not in entries
    withdraw(submission=older, by=captain)
    assert older.pk in round_.entries.values_list("submission", flat=True)


def test_a_final_may_require_open_source(env: RoundFixture) -> None:
    """The newest submission of a team with such a licence takes part; other rounds take everybody."""
    Competition.objects.update(licence_policy="required")
    env.competition.refresh_from_db()
    env.submission("mixed", "model", 2)
    for team, kind, number, licence in [
        ("mixed", "model", 1, "LicenseRef-ours"),
        ("closed", "model", 0, "BUSL-1.1"),
        ("noise", "untargeted", 0, "Apache-2.0"),
    ]:
        env.submission(team, kind, number, licence=licence)
    final = env.plan("final")
    names = [(each.player.title, each.eligible) for each in eligible_entries(final, clock.now())]
    assert sorted(names) == [("model 2", True), ("untargeted 0", True)]
    final.kind = Round.Kind.DEVELOPMENT
    names = [(each.player.title, each.eligible) for each in eligible_entries(final, clock.now())]
    assert sorted(names) == [("model 0", True), ("model 1", True), ("untargeted 0", True)]


def test_a_submission_that_was_made_a_baseline_enters_without_prizes_beside_the_one_that_counts(
    env: RoundFixture,
) -> None:
    env.field(2, 2)
    counts = env.submission("owls", "model", 3)
    baseline = env.submission("owls", "model", 2)
    make_baseline(submission=baseline, by=env.organiser, reason="everybody knows it")
    assert counts.player is not None
    assert baseline.player is not None
    round_ = frozen(env, "final")
    entries = {entry.submission_id: entry for entry in round_.entries.filter(track__name="model")}
    assert entries[counts.pk].eligible
    assert (entries[baseline.pk].eligible, entries[baseline.pk].ineligible_because) == (
        False,
        "the organisers made it a baseline",
    )
    with pytest.raises(Refusal, match="is a baseline"):
        confirm_licence(entries=[entries[baseline.pk]], by=env.organiser, reason="it is open")
    lifecycle.start(round_=round_, by=env.organiser)
    env.run(round_)
    assert (round_.state, round_.problem) == ("scored", "")
    played = round_.entries.get(submission=baseline)
    assert (played.place is not None, played.eligible) == (True, False)
    publish(round_=round_, by=env.organiser)
    assert {counts.player.title, baseline.player.title} <= set(env.pool("model"))


def test_equal_content_of_a_baseline_and_of_the_one_that_counts_enters_once(env: RoundFixture) -> None:
    """Otherwise the bundle has a player with two submissions of one team, and nobody can verify it."""
    env.field(2, 2)
    older, baseline, counts = (env.submission("owls", "model", 3) for _ in range(3))
    for each in (older, baseline):
        make_baseline(submission=each, by=env.organiser, reason="everybody knows it")
    round_ = env.scored(env.plan())
    assert (round_.state, round_.problem) == ("scored", "")
    entered = round_.entries.filter(submission__repository=counts.repository)
    assert list(entered.values_list("submission", "eligible")) == [(counts.pk, True)]
    report = verify(bundle_content(round_), public_key())
    assert report.ok, report.problems
