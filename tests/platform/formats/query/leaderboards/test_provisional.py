"""A new basis measures the best first; the others keep their score until workers are idle."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import transaction

from accounts.models import User
from competitions.models import Competition
from core import clock
from formats.query.leaderboards import evaluation_basis
from formats.query.leaderboards.evaluation_basis import unevaluated, unrefined
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.score_visibility import board
from formats.query.leaderboards.scoring import refresh_boards
from formats.query.leaderboards.tasks import sweep
from formats.query.matches.models import Match, Piece
from formats.query.rounds.round_format import QueryRounds
from submissions.models import Player, Submission
from workers.models import Worker

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


@pytest.fixture(autouse=True)
def _two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_basis, "AT_ONCE", 2)


@pytest.fixture
def ranked(env: BoardFixture, alice: User, attack_pool: Pool) -> list[Submission]:
    """Models of five teams from the best to the worst, submitted in another order; then a stronger pool."""
    sent = {place: env.submission(env.entry(f"team-{place}"), "model", alice) for place in (4, 1, 5, 3, 2)}
    env.score_all({submission: 7.0 - place for place, submission in sent.items()})
    env.pool("untargeted", "stronger")
    return [sent[place] for place in sorted(sent)]


@pytest.fixture
def worker(the_clock: FakeClock) -> Worker:
    """A live, idle worker."""
    now = clock.now()
    return Worker.objects.create(name="here/0", worker_class="cpu", started_at=now, last_seen_at=now)


def provisional(env: BoardFixture) -> list[str]:
    return [row.team_slug for row in board(env.tracks["model"]).rows if row.provisional]


def again(submission: Submission) -> bool:
    return submission.evaluations.count() == 2


def play_open(env: BoardFixture, distance: float) -> None:
    for match in Match.objects.filter(state=Match.State.WAITING):
        env.play(match, [distance] * 6)


def test_the_best_are_measured_first_and_the_others_one_at_a_time_in_order(
    env: BoardFixture, ranked: list[Submission], worker: Worker
) -> None:
    assert len(provisional(env)) == 5
    sweep()
    assert [again(each) for each in ranked] == [True, True, False, False, False]
    sweep()
    assert sum(map(again, ranked)) == 2, "pieces wait"
    play_open(env, 6.5)
    sweep()
    assert provisional(env) == ["team-3", "team-4", "team-5"]
    for place in (3, 4, 5):
        assert [again(each) for each in ranked] == [number <= place for number in range(1, 6)], (
            "one at a time, in order"
        )
        play_open(env, 6.5 - place)
        sweep()
    assert provisional(env) == []
    assert unrefined() is None


def test_the_best_of_the_previous_board_are_measured_first(env: BoardFixture, ranked: list[Submission]) -> None:
    sweep()
    play_open(env, 0.5)
    sweep()
    assert [again(each) for each in ranked] == [True, True, False, False, False]


def test_a_score_on_an_earlier_basis_has_no_rank(env: BoardFixture, ranked: list[Submission]) -> None:
    assert [(row.rank, row.change) for row in board(env.tracks["model"]).rows] == [(None, None)] * 5
    sweep()
    play_open(env, 0.5)
    sweep()
    rows = board(env.tracks["model"]).rows
    assert [(row.team_slug, row.rank, row.value) for row in rows] == [
        ("team-1", 1, 0.5),
        ("team-2", 1, 0.5),
        ("team-3", None, 4.0),
        ("team-4", None, 3.0),
        ("team-5", None, 2.0),
    ]
    assert [row.pool for row in rows] == [2, 2, 1, 1, 1]
    assert env.table("model") == [
        (1, "team-1", None),
        (1, "team-2", None),
        *((None, f"team-{n}", None) for n in (3, 4, 5)),
    ]


def test_boards_follow_a_new_basis_without_a_score(env: BoardFixture, ranked: list[Submission]) -> None:
    assert None not in [rank for rank, *_ in env.table("model")]
    refresh_boards()
    assert [row[:2] for row in env.table("model")] == [(None, f"team-{n}") for n in range(1, 6)]


def test_a_round_seeds_by_rank_and_then_by_the_previous_board(
    the_clock: FakeClock, env: BoardFixture, ranked: list[Submission]
) -> None:
    before = QueryRounds().counting(env.competition, clock.now()).places[env.tracks["model"].pk]
    the_clock.forward(hours=1)
    sweep()
    for match, distance in zip(Match.objects.filter(state="waiting").order_by("pk"), (0.5, 0.7), strict=True):
        env.play(match, [distance] * 6)
    sweep()
    first, second, third, *rest = (each.repository.entry_id for each in ranked)
    places = QueryRounds().counting(env.competition, clock.now()).places[env.tracks["model"].pk]
    assert sorted(before, key=before.__getitem__) == [first, second, third, *rest]
    assert sorted(places, key=places.__getitem__) == [second, first, third, *rest]


def test_others_wait_for_an_idle_worker(
    env: BoardFixture, ranked: list[Submission], worker: Worker, the_clock: FakeClock
) -> None:
    sweep()
    play_open(env, 9.0)
    sweep()
    Evaluation.objects.filter(submission=ranked[2], state="playing").delete()
    Match.objects.filter(state="waiting").delete()
    assert unrefined() == ranked[2]
    others = Worker.objects.filter(pk=worker.pk)
    held = {"state": "claimed", "worker": worker, "lease_until": the_clock.at + Piece.LEASE}
    busy: dict[str, Callable[[], object]] = {
        "there is none": others.delete,
        "it is not live": lambda: others.update(last_seen_at=the_clock.at - timedelta(minutes=2)),
        "it plays": lambda: Piece.objects.filter(number=0, match__attack__title="noise").update(**held),
    }
    for why, change in busy.items():
        with transaction.atomic():
            change()
            assert unrefined() is None, why
            transaction.set_rollback(True)


def test_others_do_not_wait_for_pieces_that_no_worker_can_play(
    ranked: list[Submission], worker: Worker, the_clock: FakeClock
) -> None:
    sweep()
    assert unrefined() is None, "they could be played"
    pieces = Piece.objects.filter(state="waiting")
    rest = the_clock.at + timedelta(seconds=10)
    unplayable: dict[str, Callable[[], object]] = {
        "they rest": lambda: pieces.update(paused_until=rest),
        "they need a GPU": lambda: Match.objects.filter(state="waiting").update(needs_gpu=True),
    }
    for why, change in unplayable.items():
        with transaction.atomic():
            change()
            assert unrefined() == ranked[2], why
            Worker.objects.update(worker_class="gpu", last_seen_at=the_clock.forward(seconds=20))
            assert unrefined() is None, why
            the_clock.forward(seconds=-20)
            transaction.set_rollback(True)


def test_what_needs_a_gpu_waits_for_one_and_others_do_not(ranked: list[Submission], worker: Worker) -> None:
    sweep()
    Match.objects.filter(state="waiting").delete()
    Player.objects.filter(submissions=ranked[2]).update(gpu=True)
    assert unrefined() == ranked[3]
    Worker.objects.update(worker_class="gpu")
    assert unrefined() == ranked[2]
    Worker.objects.update(worker_class="cpu")
    Player.objects.filter(title="stronger").update(gpu=True)
    assert unrefined() is None


def test_rescore_all_is_a_setting(env: BoardFixture, ranked: list[Submission]) -> None:
    Competition.objects.update(rescore_all=True)
    sweep()
    assert all(map(again, ranked))


def test_submissions_without_a_score_are_measured_first(
    env: BoardFixture, ranked: list[Submission], alice: User
) -> None:
    new = env.submission(env.entry("new"), "model", alice)
    ranked[4].evaluations.update(state="void", cause="platform", value=None)
    assert set(unevaluated()) == {*ranked[:2], ranked[4], new}


def test_new_rules_and_new_samples_make_scores_provisional_too(
    env: BoardFixture, alice: User, attack_pool: Pool
) -> None:
    env.score(env.submission(env.entry("owls"), "model", alice), 1.0)
    assert provisional(env) == []
    rules = env.competition.rules_versions.get()
    rules.pk, rules.version = None, 2
    rules.save()
    assert provisional(env) == ["owls"]
    rules.delete()
    env.sample_set.pk, env.sample_set.name = None, "further"
    env.sample_set.save()
    assert provisional(env) == ["owls"]
