"""A round from plan to publication, with simulated outcomes; disturbed in every way, it ends the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from django.db import OperationalError, connection, transaction

from core import object_store
from evaluation.formats.query.bundle.verify import verify
from formats.query.matches import piece_queue
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_work import pieces
from formats.query.rounds.cost_estimate import estimate
from formats.query.rounds.models import Decision, RoundMatch, RoundStage
from formats.query.rounds.preview import preview
from formats.query.rounds.progress import progress
from formats.query.rounds.round_advancement import advance_round
from rounds.models import Round
from rounds.publishing.publication import publish
from rounds.release.signing_keys import public_key
from tests.platform.bundle_content import bundle_content
from tests.platform.claims import claim_piece

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import RoundFixture


def best(kind: str, most: int = 5) -> list[str]:
    return [f"{kind} {number}" for number in range(most)]


@pytest.mark.slow(12)
def test_a_round_ranks_the_best_players_first_and_they_become_the_pools(env: RoundFixture) -> None:
    env.field(12, 12, 6)
    round_ = env.scored(env.plan(samples=16))

    assert (round_.state, round_.problem) == ("scored", "")
    report = verify(bundle_content(round_), public_key())
    assert report.ok, report.problems
    places = {
        kind: list(
            round_.entries.filter(track__name=kind, place__lte=5)
            .order_by("place")
            .values_list("player__title", flat=True)
        )
        for kind in env.tracks
    }
    assert places == {kind: best(kind) for kind in env.tracks}
    assert round_.entries.filter(place__isnull=True).count() == 0

    before = preview(round_)
    assert [[player.title for player in view.pool_after] for view in before] == [best(kind) for kind in env.tracks]
    assert [len(view.rows) for view in before] == [12, 12, 6]
    assert [len(view.pool_before) for view in before] == [0, 0, 0]
    cut = before[0].rows[-1]
    assert "cut in stage" in cut.why
    assert "threshold" in cut.why

    publish(round_=round_, by=env.organiser, reason="looks right")
    assert round_.state == "published"
    assert {kind: env.pool(kind) for kind in env.tracks} == {kind: best(kind) for kind in env.tracks}

    # rows are bounded: one for a pair that met, a stage, a player in a stage, and a played sample
    pairs = 12 * 12 + 5 * 6
    most = estimate(round_).triples_most
    assert RoundMatch.objects.count() == Match.objects.count() <= pairs
    assert SampleResult.objects.count() == progress(round_).done <= most
    assert RoundStage.objects.count() <= 6
    assert Decision.objects.count() <= 5 * 24 + 6
    assert Piece.objects.count() <= pairs * len((8, 16))


@pytest.mark.slow(10)
def test_a_round_by_halving_ranks_both_sides_by_strength(env: RoundFixture) -> None:
    env.field(8, 8)
    round_ = env.scored(env.plan(schedule="halving"))
    assert round_.state == "scored"
    for track in ("model", "untargeted"):
        entries = round_.entries.filter(track__name=track).order_by("place")
        assert [entry.player.title for entry in entries] == [f"{track} {number}" for number in range(8)]


def test_a_final_has_a_sweep(env: RoundFixture) -> None:
    """An attack that was cut and breaks a winner alone is warned of, and scores nothing."""
    env.field(6, 24)
    traitor, winner = env.player("untargeted", 15).digest, env.player("model", 0).digest
    matrix = env.distance

    def distance(model: str, attack: str, sample: int) -> float:
        return 0.001 if (model, attack) == (winner, traitor) else matrix(model, attack, sample)

    env.distance = distance
    round_ = env.scored(env.plan("final", samples=8))
    assert round_.state == "scored"
    assert round_.entries.get(track__name="model", place=1).player.digest == winner
    assert list(round_.warnings.values_list("model__digest", "attack__digest")) == [(winner, traitor)]


def test_pairs_of_one_team_are_played(env: RoundFixture) -> None:
    env.field(2, 2)
    env.submission("mo-0", "untargeted", 9)
    round_ = env.scored(env.plan(samples=8))
    assert round_.state == "scored"
    assert Match.objects.filter(model__title="model 0", attack__title="untargeted 9").exists()
    assert Match.objects.filter(model__title="model 1", attack__title="untargeted 9").exists()


class FlakyConnection:
    """Loses the connection to the database at a random query, once."""

    def __init__(self, draw: random.Random) -> None:
        self.left = draw.randrange(40)

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise OperationalError("the connection is lost")
        return execute(sql, params, many, context)


def disturbed(env: RoundFixture, round_: Round, draw: random.Random) -> int:
    """Run a round with workers of two classes that commit in any order, steps at any moment, both killed."""
    deaths = 0
    workers = [env.worker("a/0", "cpu"), env.worker("a/1", "gpu"), env.worker("a/2", "cpu")]
    while Round.objects.filter(pk=round_.pk, state="playing").exists():
        claims = [claim for worker in workers if (claim := claim_piece(worker))]
        draw.shuffle(claims)
        for claim in claims:
            played = env.played(claim)
            dies = draw.random() < 0.05
            try:
                with connection.execute_wrapper(FlakyConnection(draw)) if dies else nullcontext():
                    piece_queue.commit(claim, played)
            except OperationalError:
                deaths += 1
                pieces.release(claim)
        if draw.random() < 0.3 or not claims:
            try:
                with connection.execute_wrapper(FlakyConnection(draw)):
                    advance_round(round_)
            except OperationalError:
                deaths += 1
        # the clock decides nothing except leases
        env.clock.forward(seconds=draw.choice([-20, 0, 1, 20]))
    return deaths


def test_killed_anywhere_it_ends_with_the_same_outcome(env: RoundFixture) -> None:
    env.field(9, 8, 3)
    start = transaction.savepoint()
    round_ = env.scored(env.plan(samples=8))
    outcome = round_.outcome
    assert outcome
    transaction.savepoint_rollback(start)

    draw = random.Random(4)
    round_ = env.begin(env.plan(samples=8))
    assert disturbed(env, round_, draw) > 5
    round_.refresh_from_db()
    assert round_.outcome == outcome
    assert round_.problem == ""
    assert object_store.get(outcome)


def test_many_pieces_played_at_once_leave_the_rows_of_single_commits(env: RoundFixture) -> None:
    """Most tests of rounds play so."""
    env.field(2, 2)
    round_ = env.begin(env.plan(samples=8, schedule="halving"))
    advance_round(round_)
    worker = env.worker("a/0", "gpu")
    start = transaction.savepoint()
    assert env.play(worker) == 4
    found = played_rows()
    transaction.savepoint_rollback(start)

    while claim := claim_piece(worker):
        piece_queue.commit(claim, env.played(claim))
    assert played_rows() == found


def played_rows() -> list[list[dict[str, Any]]]:
    """All columns of matches, pieces and results, but for the keys of results."""
    return [
        [{name: value for name, value in row.items() if name not in {"id", "piece_id"}} for row in rows]
        for rows in (
            Match.objects.order_by("pk").values(),
            Piece.objects.order_by("pk").values(),
            SampleResult.objects.order_by("match", "sample").values(),
        )
    ]


def test_a_worker_of_another_class_and_the_clock_change_nothing(env: RoundFixture) -> None:
    """What a round follows from has no worker, no class, no seconds and no time in it."""
    env.field(4, 4)
    start = transaction.savepoint()
    outcome = env.scored(env.plan(samples=8)).outcome
    transaction.savepoint_rollback(start)

    round_ = env.begin(env.plan(samples=8))
    advance_round(round_)
    claim = claim_piece(env.worker("a/0"))
    assert claim is not None
    piece_queue.commit(claim, env.played(claim))
    env.clock.forward(days=-400)
    while env.play(env.worker("b/0", "gpu")):
        env.clock.forward(days=300)
        advance_round(round_)
    round_.refresh_from_db()
    assert round_.outcome == outcome
