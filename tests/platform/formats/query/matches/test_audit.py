"""The audit of a model after its match: when and where it is claimed, and what it writes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from core import clock
from core.errors import Fault
from evaluation.domain.failure_reasons import Reason
from evaluation.formats.query.kept_frames import KeptFrame, KeptFrames
from evaluation.formats.query.referee.kept_frame_bytes import pack
from evaluation.formats.query.results import AuditReport
from formats.query.matches import kept_frames, match_session, piece_queue, player_builds, services
from formats.query.matches.audit_placement import IDLE_WAIT, OTHER_HOST_WAIT
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import AuditedPiece, PlayedPiece
from formats.query.matches.piece_work import pieces
from formats.query.matches.selectors import progress
from repositories.models import Repository
from submissions.models import Player
from tests.platform.claims import claim_piece
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers.lease import LostClaimError
from workers.models import Host, Worker
from workers.sandboxes import open_sandbox

pytestmark = pytest.mark.django_db(transaction=True)

MakeWorker = Callable[..., Worker]
Played = Callable[[Piece], PlayedPiece]

OPEN = AuditReport(replayed=4, fresh_due=8)
DONE = AuditReport(replayed=4, fresh_due=8, fresh=8)


@pytest.fixture
def play_out(match: Match, played: Played) -> Callable[[Worker], list[str]]:
    """Let a worker commit every piece of the match; each keeps frames for the audit."""

    def play(worker: Worker) -> list[str]:
        digests = []
        while (held := claim_piece(worker)) is not None and not held.piece.is_audit:
            digests.append(kept_frames.keep(b"frames of piece %d" % held.piece.number))
            piece_queue.commit(held, replace(played(held.piece), audit=OPEN, kept=digests[-1]))
        if held is not None:
            pieces.release(held)
        match.refresh_from_db()
        return digests

    return play


def audited(match: Match) -> list[AuditedPiece]:
    """Return the audits of its pieces, all passed."""
    pieces = match.pieces.exclude(kept="").order_by("number")
    return [AuditedPiece(piece.pk, piece.kept, DONE, piece.artefact) for piece in pieces]


def claimed(worker: Worker) -> Piece:
    held = claim_piece(worker)
    assert held is not None
    return held.piece


def pass_time(match: Match, by: timedelta) -> None:
    """Let the match be played so much earlier."""
    match.pieces.filter(state="played").update(played_at=clock.now() - by)


def test_the_audit_follows_the_last_piece_and_ends_the_match(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]]
) -> None:
    worker = make_worker("one/0")
    digests = play_out(worker)
    assert (match.state, match.audit, match.finished_at) == ("audit", {}, None)
    assert progress([match]).pieces_played < progress([match]).pieces
    held = claim_piece(worker)  # the only host
    assert held is not None
    assert held.piece.is_audit
    piece_queue.commit_audit(held, audited(match))
    match.refresh_from_db()
    assert (match.state, match.audit["fresh"], match.audit["open"]) == ("played", 24, False)
    assert list(match.pieces.values_list("kind", "state", "kept")) == [("play", "played", "")] * 3
    assert not any(map(kept_frames.exist, digests))


def test_another_live_host_goes_first(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]]
) -> None:
    own, other = make_worker("own/0"), make_worker("other/0")
    play_out(own)
    assert claim_piece(own) is None
    assert claimed(other).is_audit


@pytest.mark.parametrize("check_due", [None, timedelta(minutes=2)])
def test_a_host_that_is_out_of_service_is_not_waited_for(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]], check_due: timedelta | None
) -> None:
    """Drained, or after a failed check: its workers live on and claim nothing."""
    own, _ = make_worker("own/0"), make_worker("other/0")
    now = clock.now()
    Host.objects.create(name="other", out_since=now, check_due_at=None if check_due is None else now + check_due)
    play_out(own)
    assert claimed(own).is_audit


def test_its_own_host_audits_it_when_no_other_comes(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]]
) -> None:
    own, _ = make_worker("own/0"), make_worker("other/0")
    play_out(own)
    pass_time(match, OTHER_HOST_WAIT)
    assert claimed(own).is_audit


def test_a_host_that_plays_the_model_waits_and_then_plays_no_more_of_it(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]], other_match: Match
) -> None:
    """`other_match` is of the same model."""
    first, second = make_worker("host/0"), make_worker("host/1")
    own, other = Match.objects.filter(pk=match.pk), Match.objects.filter(pk=other_match.pk)
    services.suspend(own)
    assert claimed(second).match_id == other_match.pk
    services.resume(own)
    services.suspend(other)
    play_out(first)
    assert claim_piece(first) is None
    services.resume(other)
    assert claimed(first).match_id == other_match.pk
    pass_time(match, IDLE_WAIT)
    pieces.release(piece_queue.Claim(Piece.objects.get(state="claimed", worker=first), first))
    assert claimed(first).is_audit
    assert claim_piece(make_worker("host/2")) is None
    assert claimed(make_worker("elsewhere/0")).match_id == other_match.pk


@pytest.fixture
def match_of_the_team(match: Match, repositories: dict[str, Repository]) -> Match:
    """A match of another model against an attack of the team that made the model of `match`."""
    untargeted, models = (match.model.competition.tracks.get(name=name) for name in ("untargeted", "model"))
    attack = player_builds.baseline_player(untargeted, "salt-and-pepper", lambda line: None)
    model = player_builds.baseline_player(models, "frozen-noise", lambda line: None)
    Player.objects.filter(pk=match.model_id).update(repository=repositories["model"])
    Player.objects.filter(pk=attack.pk).update(repository=repositories["untargeted"])
    return ensure_match(rules=match.rules, sample_set=match.sample_set, model=model, attack=attack)


def test_a_host_that_plays_another_player_of_the_team_waits_as_well(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]], match_of_the_team: Match
) -> None:
    first, second = make_worker("host/0"), make_worker("host/1")
    own, other = Match.objects.filter(pk=match.pk), Match.objects.filter(pk=match_of_the_team.pk)
    services.suspend(own)
    assert claimed(second).match_id == match_of_the_team.pk
    services.resume(own)
    services.suspend(other)
    play_out(first)
    assert claim_piece(first) is None
    services.resume(other)
    assert claimed(first).match_id == match_of_the_team.pk
    pass_time(match, IDLE_WAIT)
    pieces.release(piece_queue.Claim(Piece.objects.get(state="claimed", worker=first), first))
    assert claimed(first).is_audit
    assert claim_piece(make_worker("host/2")) is None
    assert claimed(make_worker("elsewhere/0")).match_id == match_of_the_team.pk


@pytest.fixture
def other_match(match: Match) -> Match:
    """Another match of the model."""
    track = match.model.competition.tracks.get(name="untargeted")
    attack = player_builds.baseline_player(track, "salt-and-pepper", lambda line: None)
    return ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=attack)


def test_a_lost_claim_writes_nothing(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]]
) -> None:
    worker = make_worker("one/0")
    digests = play_out(worker)
    held = claim_piece(worker)
    assert held is not None
    Piece.objects.filter(pk=held.piece.pk).update(lease_until=clock.now() - timedelta(minutes=1))
    assert pieces.expire() == 1
    with pytest.raises(LostClaimError):
        piece_queue.commit_audit(held, audited(match))
    match.refresh_from_db()
    assert match.state == "audit"
    assert all(map(kept_frames.exist, digests))
    assert claimed(worker).is_audit


def test_rows_of_an_inconsistent_model_change_with_the_audit(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]], played: Played
) -> None:
    worker = make_worker("one/0")
    play_out(worker)
    held = claim_piece(worker)
    assert held is not None
    first, *others = audited(match)
    row = replace(played(match.pieces.get(number=0)).samples[0], distance=0.25, reason=Reason.INCONSISTENT)
    failed = replace(DONE, fresh_changed=8)
    piece_queue.commit_audit(held, [replace(first, audit=failed, artefact="b" * 64, samples=(row,)), *others])
    match.refresh_from_db()
    assert (match.audit["passed"], match.audit["stateful"]) == (False, True)
    assert match.pieces.get(number=0).artefact == "b" * 64
    changed = match.sample_results.filter(reason=Reason.INCONSISTENT).values_list("sample", "distance")
    assert list(changed) == [(row.sample, 0.25)]


def test_an_audit_holds_the_images_of_one_piece_in_memory(
    match: Match, make_worker: MakeWorker, played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, size = make_worker("one/0"), 4 << 20
    while (held := claim_piece(worker)) is not None and not held.piece.is_audit:
        frame = KeptFrame(np.full((1, size), held.piece.number, np.uint8), (3,), 1.0)
        digest = kept_frames.keep(pack(KeptFrames((frame,), (frame,))))
        piece_queue.commit(held, replace(played(held.piece), audit=OPEN, kept=digest))
    seen: list[tuple[int, list[int]]] = []

    def look(*, kept: Sequence[KeptFrames], **arguments: object) -> tuple[AuditReport, ...]:
        memory, _ = tracemalloc.get_traced_memory()
        seen.append((memory, [int(images.frames[0].images.max()) for images in kept]))
        raise Fault("enough was seen")

    monkeypatch.setattr(match_session, "audit_model", look)
    tracemalloc.start()
    try:
        with pytest.raises(Fault, match="enough"):
            match_session.audit(match, worker, open_sandbox())
    finally:
        tracemalloc.stop()
    ((memory, numbers),) = seen
    assert numbers == [0, 1, 2]
    assert memory < 2 * size, "of six frames of that size"


def test_more_samples_are_played_before_the_audit(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]], played: Played
) -> None:
    worker = make_worker("one/0")
    play_out(worker)
    Match.objects.filter(pk=match.pk).update(state="playing")
    last = match.pieces.filter(kind="play").latest("number")
    match.pieces.filter(pk=last.pk).update(state="waiting")
    held = claim_piece(worker)
    assert held is not None
    assert held.piece.pk == last.pk  # not the audit that waits
    match.sample_results.filter(piece=last).delete()
    piece_queue.commit(held, replace(played(held.piece), audit=OPEN, kept="c" * 64))
    match.refresh_from_db()
    assert match.state == "audit"
    assert match.pieces.filter(kind="audit").count() == 1


def test_a_cancelled_match_is_audited_when_it_is_requested_again(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]]
) -> None:
    worker = make_worker("one/0")
    play_out(worker)
    assert services.cancel(Match.objects.filter(pk=match.pk)) == 1
    assert claim_piece(worker) is None
    ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.attack)
    match.refresh_from_db()
    assert match.state == "audit"
    assert claimed(worker).is_audit


def test_a_suspended_match_is_audited_when_it_is_resumed(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]]
) -> None:
    worker = make_worker("one/0")
    play_out(worker)
    services.suspend(Match.objects.filter(pk=match.pk))
    assert claim_piece(worker) is None
    services.resume(Match.objects.filter(pk=match.pk))
    match.refresh_from_db()
    assert match.state == "audit"
    assert claimed(worker).is_audit


def test_a_failed_audit_fails_the_match_and_can_be_replayed(
    match: Match, make_worker: MakeWorker, play_out: Callable[[Worker], list[str]]
) -> None:
    workers = [make_worker("one/0"), make_worker("two/0")]
    play_out(workers[0])
    for number in range(3):
        Piece.objects.filter(kind="audit").update(paused_until=None)
        pass_time(match, OTHER_HOST_WAIT)
        held = claim_piece(workers[number % 2])
        assert held is not None
        pieces.release(held, fault="the sandbox does not start")
    match.refresh_from_db()
    assert match.state == "failed"
    assert match.fault.startswith("the audit was given up")
    services.replay_failed(match, None, "repaired")
    assert match.state == "audit"
    assert claimed(workers[1]).is_audit
