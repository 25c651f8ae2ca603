"""Worker loop: claim pieces, play them, commit each one separately."""

from __future__ import annotations

import logging
import time
from functools import partial

from core import faults, notify
from core.database import FAILURES, persist
from core.lease import LostClaimError
from core.logs import log_ids
from matches import engine_adapter, queue
from matches.heartbeat import Heartbeat
from matches.models import Worker
from matches.queue import Claim
from submissions import host_health

log = logging.getLogger(__name__)


def play_pieces(worker: Worker, heartbeat: Heartbeat, *, seconds: float) -> None:
    """Play pieces that wait for `worker` until none is left or `seconds` have passed.

    Stop after a platform error: the problem of this host would affect the next piece too. Claim nothing while this
    host is out of service.
    """
    ends = time.monotonic() + seconds
    if not host_health.wait_for_service(seconds):
        return
    claim = heartbeat.hold_claim(queue.claim(worker))
    if claim is not None and queue.waiting_for(worker).exists():
        # received by an idle worker, or by this one when it is done: messages neither grow nor run out
        notify.notify("matches.play")
    while claim is not None:
        with log_ids(match=claim.piece.match_id):
            claim = _play_match(claim, heartbeat, ends)


def _play_match(claim: Claim, heartbeat: Heartbeat, ends: float) -> Claim | None:
    """Play the match of `claim` while there are pieces and time; return the claim on the next other match, if any."""
    match, following = claim.piece.match, None
    try:
        if claim.piece.is_audit:
            with log_ids(piece=claim.piece.pk):
                audited = engine_adapter.audit(match, claim.worker)
                persist(partial(queue.commit_audit, claim, audited))
            heartbeat.drop(claim.piece)
            return None if time.monotonic() >= ends else heartbeat.hold_claim(queue.claim(claim.worker))
        with engine_adapter.Session(match, claim.worker) as session:
            while True:
                with log_ids(piece=claim.piece.pk):
                    played = session.settle(session.play(claim.piece))
                    persist(partial(queue.commit, claim, played))
                heartbeat.drop(claim.piece)
                if time.monotonic() >= ends:
                    return None
                following = heartbeat.hold_claim(queue.claim(claim.worker, prefer=match))
                if following is None or following.piece.match_id != match.pk or following.piece.is_audit:
                    return following
                claim, following = following, None
    except LostClaimError:
        with log_ids(piece=claim.piece.pk):
            log.warning("the claim on %s was lost while it was played; nothing was written", claim.piece)
        _release_claim(claim, following, heartbeat)
    except Exception as failure:  # always a platform error: errors of players are in the result
        with log_ids(piece=claim.piece.pk):
            faults.report(log, failure, "%s could not be played", claim.piece)
            # if the database or this host failed, the piece is not to blame and must not be given up
            host_failed = isinstance(failure, FAILURES) or not persist(partial(host_health.check_after, failure))
        fault = f"{type(failure).__name__}: {failure}"
        _release_claim(claim, following, heartbeat, fault=fault, host_failed=host_failed)
    except BaseException:  # the worker is stopped: no fault, and the pieces are free immediately
        _release_claim(claim, following, heartbeat)
        raise
    return None


def _release_claim(
    claim: Claim, following: Claim | None, heartbeat: Heartbeat, fault: str = "", *, host_failed: bool = False
) -> None:
    heartbeat.drop(claim.piece)
    persist(partial(queue.release_claim, claim, fault=fault, host_failed=host_failed))
    if following is not None:
        heartbeat.drop(following.piece)
        persist(partial(queue.release_claim, following))
