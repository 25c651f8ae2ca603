"""The sweep finds open work from the database alone when notifications are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from competitions.models import Entry, RulesVersion
from core import clock, object_store
from core.models import Event
from formats.query.leaderboards import services, tasks
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.leaderboards.score_visibility import board
from formats.query.leaderboards.tasks import sweep
from formats.query.matches.models import Match
from submissions.evaluation_refunds import refund_overdue
from submissions.models import Player, QuotaSlot
from submissions.quota_ledger_check import differing_slots

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


def test_a_submission_is_evaluated_once_there_is_a_pool_and_scored_once_it_is_played(
    env: BoardFixture, entry: Entry, alice: User
) -> None:
    submission = env.submission(entry, "model", alice)
    sweep()
    assert not Evaluation.objects.exists()
    env.pool("untargeted", "noise")
    sweep()
    evaluation = Evaluation.objects.get(submission=submission)
    env.play(evaluation.matches.get(), [2.0] * 6)
    sweep()
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.value) == ("scored", 2.0)


def test_a_sweep_starts_a_number_of_evaluations_and_the_next_one_goes_on(
    env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep that starts those of a thousand teams would keep scores and lost work waiting meanwhile."""
    monkeypatch.setattr(tasks, "MOST_STARTED", 2, raising=False)
    made = [env.submission(entry, "model", alice).pk for _ in range(5)]
    seen = []
    for _ in range(4):
        sweep()
        seen.append(list(Evaluation.objects.order_by("pk").values_list("submission", flat=True)))
    assert seen == [made[:2], made[:4], made, made]


def test_a_baseline_whose_image_is_gone_is_built_again_and_keeps_its_place(
    env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = object_store.put(b'{"rootfs": {"diff_ids": []}}')
    Player.objects.filter(baseline="noise").update(image=f"sha256:{image}")
    lost = Player.objects.get(baseline="noise")
    env.submission(entry, "model", alice)
    sweep()
    match = lost.matches_as_attack.get()
    match.pieces.update(state="failed", faults=2)
    Match.objects.filter(pk=match.pk).update(state="failed")
    built: list[str] = []

    def build(track: object, name: str, on_log: object) -> Player:
        built.append(name)
        equal = object_store.put(b'{"rootfs": {"diff_ids": []}, "created": "later"}')
        Player.objects.filter(pk=lost.pk).update(image=f"sha256:{equal}")
        return lost

    monkeypatch.setattr(services, "baseline_player", build)
    monkeypatch.setattr(services, "keep_image", lambda player: None)
    monkeypatch.setattr(tasks, "LOOK_AGAIN_SECONDS", 0.0)
    sweep()
    assert built == [], "the store has it"
    object_store.remove(image)
    for _ in range(2):
        sweep()
    assert built == ["noise"]
    match.refresh_from_db()
    assert (match.state, set(match.pieces.values_list("state", "faults"))) == ("waiting", {("waiting", 0)})
    assert attack_pool.places.filter(player=lost).exists()


def test_a_new_pool_measures_again_what_counts(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> None:
    old, new = (env.submission(entry, "model", alice) for _ in range(2))
    sweep()
    assert Evaluation.objects.count() == 2, "each that was never measured"
    env.pool("untargeted", "stronger")
    sweep()
    assert (old.evaluations.count(), new.evaluations.count()) == (1, 2)


def test_new_rules_measure_again_and_the_old_score_stays_until_then(
    env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool, rules: RulesVersion
) -> None:
    old, new = (env.submission(entry, "model", alice) for _ in range(2))
    for submission in (old, new):
        env.score(submission, 2.0)
    RulesVersion.objects.create(
        competition=env.competition, version=2, values=rules.values | {"query_budget": 7}, created_at=clock.now()
    )
    sweep()
    sweep()
    assert (old.evaluations.count(), new.evaluations.count()) == (1, 2)
    assert [(row.value, row.rules) for row in board(env.tracks["model"]).rows] == [(2.0, 1)]
    again = new.evaluations.get(rules__version=2)
    for match in again.matches.all():
        env.play(match, [1.0] * 6)
    sweep()
    assert [(row.value, row.rules) for row in board(env.tracks["model"]).rows] == [(1.0, 2)]
    assert verify_boards().differences == ()


def test_a_new_validation_set_measures_again(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> None:
    submission = env.submission(entry, "model", alice)
    env.score(submission, 2.0)
    further = env.sample_set
    further.pk, further.name = None, "further"
    further.save()
    sweep()
    assert [row.sample_set.name for row in submission.evaluations.all()] == ["further", "validation"]


def test_a_void_evaluation_is_not_restarted_automatically(
    env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool
) -> None:
    evaluation = services.evaluate(env.submission(entry, "model", alice))
    assert evaluation is not None
    for match in evaluation.matches.all():
        env.end(match, "failed", {})
    sweep()
    sweep()
    assert Evaluation.objects.get().state == "void"


def test_one_that_plays_for_more_than_a_week_is_refunded_and_continues(
    env: BoardFixture,
    the_clock: FakeClock,
    entry: Entry,
    alice: User,
    attack_pool: Pool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    evaluation = services.evaluate(env.submission(entry, "model", alice))
    assert evaluation is not None
    the_clock.forward(days=7)
    assert refund_overdue() == 0
    slot = QuotaSlot.objects.get(submission=evaluation.submission)
    assert slot.state == "used"
    the_clock.forward(seconds=1)
    assert (refund_overdue(), refund_overdue()) == (1, 0)
    slot.refresh_from_db()
    assert (slot.state, slot.reason) == ("refunded", "overdue")
    assert Event.objects.get(verb="overdue").subject == f"submission:{evaluation.submission_id}"
    assert "workers are missing" in caplog.text
    for match in evaluation.matches.all():
        env.play(match, [2.0] * 6)
    sweep()
    evaluation = Evaluation.objects.get()
    assert (evaluation.state, evaluation.cause, evaluation.value) == ("scored", "", 2.0)
    assert verify_boards().differences == ()
    assert list(differing_slots()) == []
