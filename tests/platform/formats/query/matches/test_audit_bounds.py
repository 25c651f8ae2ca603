"""Which players keep a host from an audit, which hosts count as another one, and how long an audit may be held."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

import pytest
from django.db import connections

from core import clock
from evaluation.formats.query.results import AuditReport
from evaluation.formats.query.rules import QueryRules
from formats.query.matches import kept_frames, piece_queue
from formats.query.matches.audit_placement import OTHER_HOST_WAIT
from formats.query.matches.match_session import longest_audit_seconds, longest_seconds
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import AuditedPiece, PlayedPiece
from formats.query.matches.piece_work import pieces
from submissions.models import Player
from tests.platform.claims import claim_piece, hold_piece
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers.heartbeat import WorkerHeartbeat
from workers.models import Priority, Worker

MakeWorker = Callable[..., Worker]
Played = Callable[[Piece], PlayedPiece]


class Clock(Protocol):
    at: datetime

    def forward(self, **by: float) -> datetime: ...


@pytest.fixture
def play_out(match: Match, played: Played) -> Callable[..., None]:
    """Let a worker commit every piece of the match; each has `images` to be asked again."""

    def play(worker: Worker, images: int = 8) -> None:
        for _ in range(match.pieces.count()):
            held = claim_piece(worker)
            assert held is not None
            kept = kept_frames.keep(b"frames of piece %d" % held.piece.number)
            piece_queue.commit(held, replace(played(held.piece), audit=AuditReport(fresh_due=images), kept=kept))

    return play


@pytest.fixture
def match_of_twin(match: Match) -> Callable[[], Match]:
    """Request a match of another model, by an attack with the digest of the first one."""

    def request() -> Match:
        other, twin = (
            Player.objects.create(
                competition=match.model.competition,
                track_name=track,
                digest=digest,
                title="a player",
                command=["python3", "main.py"],
                baseline="player",
                created_at=clock.now(),
            )
            for track, digest in (("model", "other"), ("untargeted", match.model.digest))
        )
        return ensure_match(rules=match.rules, sample_set=match.sample_set, model=other, attack=twin)

    return request


def test_a_host_that_audits_a_model_does_not_play_its_digest_as_an_attack(
    make_worker: MakeWorker, play_out: Callable[..., None], match_of_twin: Callable[[], Match]
) -> None:
    worker = make_worker("host/0")
    play_out(worker)
    audit = claim_piece(worker)
    assert audit is not None
    assert audit.piece.is_audit
    twins = match_of_twin()
    assert claim_piece(make_worker("host/1")) is None
    elsewhere = claim_piece(make_worker("elsewhere/0"))
    assert elsewhere is not None
    assert elsewhere.piece.match_id == twins.pk


def test_an_audit_waits_while_its_host_plays_the_digest_as_an_attack(
    make_worker: MakeWorker, play_out: Callable[..., None], match_of_twin: Callable[[], Match]
) -> None:
    first, second = make_worker("host/0"), make_worker("host/1")
    play_out(first)
    twins = match_of_twin()
    Piece.objects.filter(match=twins).update(priority=Priority.ROUND)
    Piece.objects.filter(match=twins).exclude(number=0).delete()
    held = claim_piece(first)
    assert held is not None
    assert held.piece.match_id == twins.pk
    assert claim_piece(second) is None
    pieces.release(held)
    Piece.objects.filter(match=twins).delete()
    freed = claim_piece(second)
    assert freed is not None
    assert freed.piece.is_audit


def test_a_host_without_gpu_is_no_other_host_for_a_match_that_needs_one(
    match: Match, make_worker: MakeWorker, play_out: Callable[..., None]
) -> None:
    Match.objects.update(needs_gpu=True)
    own, _ = make_worker("own/0", "gpu"), make_worker("other/0")
    play_out(own)
    audit = claim_piece(own)
    assert audit is not None
    assert audit.piece.is_audit


def test_an_audit_of_many_images_is_held_as_long_as_these_may_take(
    the_clock: Clock, make_worker: MakeWorker, play_out: Callable[..., None]
) -> None:
    worker = make_worker()
    play_out(worker, images=10_000_000)
    heartbeat = WorkerHeartbeat(worker)
    audit = hold_piece(worker, heartbeat)
    assert audit is not None
    assert audit.piece.is_audit
    the_clock.forward(days=1)
    Piece.objects.update(lease_until=the_clock.at + timedelta(seconds=1))
    heartbeat.beat()
    assert heartbeat.holds(audit.piece)


def test_the_maximum_time_of_an_audit_covers_its_images_and_a_piece_before_it() -> None:
    rules = QueryRules(setup_seconds=100.0, model_seconds_per_image=0.1)
    before = longest_seconds(rules, rules.piece_samples, 3.0)
    # two starts with the model's grace, and a thousand images
    assert longest_audit_seconds(rules, 1000, 3.0) == before + 6 * (2 * (100 + 10) + 1000 * 0.1)


@pytest.mark.django_db(transaction=True)
def test_concurrent_workers_of_two_hosts_audit_each_match_once(
    match: Match, make_worker: MakeWorker, played: Played, match_of_twin: Callable[[], Match]
) -> None:
    twins = match_of_twin()
    audits = []

    def work(worker: Worker) -> None:
        try:
            while held := claim_piece(worker):
                if held.piece.is_audit:
                    audits.append(held.piece.match_id)
                    pieces = Piece.objects.filter(match=held.piece.match_id).exclude(kept="")
                    done = AuditReport(fresh_due=8, fresh=8)
                    piece_queue.commit_audit(
                        held, [AuditedPiece(piece.pk, piece.kept, done, piece.artefact) for piece in pieces]
                    )
                else:
                    kept = kept_frames.keep(f"frames of {held.piece}".encode())
                    piece_queue.commit(held, replace(played(held.piece), audit=AuditReport(fresh_due=8), kept=kept))
        finally:
            connections.close_all()

    crew = [make_worker(f"{host}/{slot}") for host in ("one", "two") for slot in range(3)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, crew))
    Piece.objects.filter(state=Piece.State.PLAYED).update(played_at=clock.now() - OTHER_HOST_WAIT)
    work(crew[0])
    assert sorted(audits) == sorted([match.pk, twins.pk])
    assert set(Match.objects.values_list("state", "audit__open")) == {("played", False)}
    assert not Piece.objects.exclude(kept="", state=Piece.State.PLAYED, kind=Piece.Kind.PLAY).exists()
