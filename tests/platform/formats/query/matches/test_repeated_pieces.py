"""Pieces that another host repeats: what is compared, what counts, and which pieces are to be rejudged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core import clock
from evaluation.formats.query.kept_frames import KeptFrames
from evaluation.formats.query.referee.kept_frame_bytes import pack
from formats.query.matches import match_session, piece_queue, repeated_pieces
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_result import PlayedPiece
from formats.query.matches.repeated_pieces import REPEATED
from tests.platform.claims import claim_piece
from workers import host_comparisons
from workers.models import Host, HostComparison, Worker

pytestmark = pytest.mark.django_db(transaction=True)

MakeWorker = Callable[..., Worker]
LetPlay = Callable[..., None]
Played = Callable[[Piece], PlayedPiece]


@pytest.fixture
def all_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let another host repeat every piece."""
    monkeypatch.setattr(repeated_pieces, "REPEATED", 1.0)


def rows(match: Match) -> list[Any]:
    columns = ("sample", "outcome", "distance", "queries", "reason", "found_label")
    return list(SampleResult.objects.filter(match=match).order_by("sample").values_list(*columns))


@pytest.mark.usefixtures("all_repeated")
def test_another_host_repeats_pieces_of_bundled_models(
    match: Match, make_worker: MakeWorker, let_play: LetPlay
) -> None:
    first, second = make_worker("first/0"), make_worker("second/0")
    let_play(first, seconds=60.0)
    match.refresh_from_db()
    assert match.state == Match.State.AUDIT
    before = rows(match)
    let_play(second)
    match.refresh_from_db()
    assert (match.state, match.audit["passed"], match.audit["open"]) == ("played", True, False)
    assert rows(match) == before
    compared = HostComparison.objects.get()
    assert (compared.subject, compared.entry, str(compared)) == (str(match), None, f"{match}: first and second")
    found = sum(outcome == "adversarial" for _, outcome, *_ in before)
    assert compared.compared > found > 0
    assert compared.unequal == 0


@pytest.mark.usefixtures("all_repeated")
def test_a_host_with_other_labels_and_distances_is_seen_and_a_bundled_model_is_not_blamed(
    match: Match, make_worker: MakeWorker, let_play: LetPlay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def noisy(kept: KeptFrames) -> bytes:
        flipped = [replace(frame, labels=tuple((label + 1) % 10 for label in frame.labels)) for frame in kept.frames]
        return pack(replace(kept, frames=tuple(flipped)))

    monkeypatch.setattr(match_session, "pack_kept", noisy)
    first, second = make_worker("first/0"), make_worker("second/0")
    let_play(first)
    SampleResult.objects.filter(outcome="adversarial").update(distance=0.125)
    let_play(second)
    match.refresh_from_db()
    compared = HostComparison.objects.get()
    assert compared.unequal == compared.compared
    assert (match.state, match.audit["passed"]) == ("played", True)


@pytest.mark.usefixtures("all_repeated")
def test_nothing_is_repeated_while_one_host_is_live(match: Match, make_worker: MakeWorker, let_play: LetPlay) -> None:
    let_play(make_worker("only/0"))
    match.refresh_from_db()
    assert match.state == Match.State.PLAYED
    assert not HostComparison.objects.exists()


def test_one_piece_of_a_bundled_model_in_a_hundred_is_repeated(
    match: Match, make_worker: MakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_pieces, "REPEATED", REPEATED)  # as it is outside of tests
    for name in ("first/0", "second/0"):
        make_worker(name)
    drawn = np.mean([repeated_pieces.chosen(match, "first") for _ in range(5000)])
    assert 0.005 < drawn < 0.016
    match.model.baseline = ""  # of a team: audited anyway
    assert not any(repeated_pieces.chosen(match, "first") for _ in range(1000))


def commit_next(worker: Worker, played: Played) -> None:
    """Claim a piece for `worker` and commit a possible result."""
    held = claim_piece(worker)
    assert held is not None
    piece_queue.commit(held, played(held.piece))


def test_the_pieces_of_a_drained_host_are_listed(match: Match, make_worker: MakeWorker, played: Played) -> None:
    workers = [make_worker("bad/0"), make_worker("bad/1"), make_worker("bad/play/0")]
    for worker in workers:
        commit_next(worker, played)
    assert list(repeated_pieces.doubtful_pieces()) == []
    Host.objects.create(name="bad", doubtful_until=Piece.objects.get(worker=workers[1]).played_at)
    assert set(repeated_pieces.doubtful_pieces()) == set(Piece.objects.filter(worker__in=workers[:2]))
    Host.objects.update(doubtful_until=clock.now())
    assert {piece.worker_id for piece in repeated_pieces.doubtful_pieces()} == {workers[0].pk, workers[1].pk}


def test_the_piece_that_a_host_held_when_it_was_drained_is_listed(
    match: Match, make_worker: MakeWorker, played: Played
) -> None:
    held = claim_piece(make_worker("bad/0"))
    assert held is not None
    values = {"at": clock.now(), "subject": "match 1", "player": "sha256:1", "compared": 128, "unequal": 6}
    for _ in range(4):
        host_comparisons.record([HostComparison(played_on="bad", repeated_on=name, **values) for name in "abc"])
    assert Host.objects.get().is_drained
    piece_queue.commit(held, played(held.piece))
    assert list(repeated_pieces.doubtful_pieces()) == [held.piece]


def test_the_pieces_of_a_node_are_listed_whichever_jobs_played_them(
    match: Match, make_worker: MakeWorker, played: Played
) -> None:
    """A cluster starts many jobs on a node, and each leaves workers of names of its own."""
    last = make_worker("bad/1500.0")
    for _ in range(3):
        commit_next(last, played)
    values = {"worker_class": "cpu", "started_at": last.started_at, "last_seen_at": last.last_seen_at}
    Worker.objects.bulk_create(Worker(name=f"bad/{job}.0", stopped_at=clock.now(), **values) for job in range(1500))
    Host.objects.create(name="bad", doubtful_until=clock.now())
    assert set(repeated_pieces.doubtful_pieces()) == set(Piece.objects.filter(worker=last))
