"""Frames kept for audits: removed with the audit, and swept where none will come."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings

from core import clock
from core.models import Event
from evaluation.formats.query.results import AuditReport
from formats.query.matches import kept_frames, piece_queue, services
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_result import PlayedPiece
from formats.query.matches.tasks import sweep_kept_frames
from operations.backups.extension_points import put_right
from tests.platform.claims import claim_piece
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers.models import Worker

pytestmark = pytest.mark.django_db(transaction=True)

MakeWorker = Callable[..., Worker]


def stored() -> list[Path]:
    """The files of frames."""
    return sorted((settings.STATE / "objects" / "kept-frames").iterdir())


def age(path: Path, by: timedelta) -> None:
    then = datetime.timestamp(clock.now() - by)
    os.utime(path, (then, then))


@pytest.fixture
def play_one(match: Match, make_worker: MakeWorker, played: Callable[[Piece], PlayedPiece]) -> Callable[[], str]:
    """Play one piece, which keeps frames; return their digest."""

    def play() -> str:
        held = claim_piece(make_worker(f"one/{Worker.objects.count()}"))
        assert held is not None
        digest = kept_frames.keep(b"frames")
        piece_queue.commit(held, replace(played(held.piece), audit=AuditReport(fresh_due=8), kept=digest))
        return digest

    return play


def test_what_no_piece_names_is_removed_when_it_is_old(match: Match, play_one: Callable[[], str]) -> None:
    """A worker was killed after the commit of an audit, or before that of a piece; another while it wrote."""
    needed, killed, new = play_one(), kept_frames.keep(b"of a killed worker"), kept_frames.keep(b"not yet committed")
    partial = stored()[0].parent / ".partial"
    partial.write_bytes(b"half of")
    for path in stored():
        if path.name != new:
            age(path, kept_frames.UNUSED_FOR * 2)
    sweep_kept_frames()
    assert {path.name for path in stored()} == {needed, new}
    assert kept_frames.read(needed) == b"frames"
    assert not kept_frames.exist(killed)


def test_nothing_is_swept_where_nothing_was_kept(db: None) -> None:
    assert kept_frames.sweep() == 0


@pytest.mark.parametrize("state", ["cancelled", "failed"])
def test_an_ended_match_forgets_what_was_not_audited_and_plays_it_again(
    match: Match, play_one: Callable[[], str], make_worker: MakeWorker, state: str
) -> None:
    digest = play_one()
    services.cancel(Match.objects.filter(pk=match.pk))
    Match.objects.filter(pk=match.pk).update(state=state)
    age(stored()[0], kept_frames.ENDED_FOR * 2)
    kept_frames.sweep()
    assert kept_frames.exist(digest)
    assert match.pieces.filter(state="played").count() == 1
    Match.objects.filter(pk=match.pk).update(finished_at=clock.now() - kept_frames.ENDED_FOR * 2)
    kept_frames.sweep()
    assert not kept_frames.exist(digest)
    assert set(match.pieces.values_list("state", "kept", "artefact")) == {("waiting", "", "")}
    assert not match.pieces.exclude(worker=None).exists()
    assert not SampleResult.objects.filter(match=match).exists()
    assert Event.objects.get(verb="forget_frames").subject == f"match:{match.pk}"
    if state == "cancelled":
        ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.attack)
    else:
        services.replay_failed(Match.objects.get(pk=match.pk), by=None)
    for _ in range(3):
        assert claim_piece(make_worker(f"new/{Worker.objects.count()}")) is not None


def test_a_match_that_goes_on_keeps_its_frames(match: Match, play_one: Callable[[], str]) -> None:
    digest = play_one()
    services.suspend(Match.objects.filter(pk=match.pk))
    age(stored()[0], kept_frames.ENDED_FOR * 2)
    assert kept_frames.sweep() == 0
    assert kept_frames.exist(digest)


@pytest.mark.parametrize("state", ["playing", "failed", "suspended"])
def test_pieces_whose_frames_went_after_a_backup_are_played_again(
    match: Match, play_one: Callable[[], str], make_worker: MakeWorker, state: str
) -> None:
    """An audit without its frames would fail on every host, and take each one out of service, for ever."""
    gone, there = play_one(), play_one()
    kept_frames.remove(gone)
    Match.objects.filter(pk=match.pk).update(state=state)
    put_right.answers()
    assert set(match.pieces.values_list("state", "kept")) == {("waiting", ""), ("played", there)}
    assert match.pieces.filter(state="waiting").count() == 2
    assert set(SampleResult.objects.values_list("piece__kept", flat=True)) == {there}
    assert Event.objects.get(verb="forget_frames").reason == "1 pieces were not audited, and their frames are gone"
    put_right.answers()
    assert Event.objects.filter(verb="forget_frames").count() == 1


def test_a_match_whose_audit_lost_its_frames_is_played_and_audited_again(
    match: Match, play_one: Callable[[], str], make_worker: MakeWorker
) -> None:
    digests = [play_one() for _ in range(3)]
    assert Match.objects.get().state == "audit"
    for digest in digests:
        kept_frames.remove(digest)
    put_right.answers()
    assert Match.objects.get().state == "playing"
    claims = [claim_piece(make_worker(f"two/{number}")) for number in range(3)]
    assert [held.piece.is_audit for held in claims if held is not None] == [False, False, False]
