"""What a worker does with its time: claim pieces, play them, commit each by itself."""

from __future__ import annotations

import logging
import time

from core import faults, notify
from core.logs import log_ids
from matches import engine_adapter, queue
from matches.heartbeat import Heartbeat
from matches.models import Worker
from matches.queue import Claim
from submissions import host_checks

log = logging.getLogger(__name__)


def play_pieces(worker: Worker, heartbeat: Heartbeat, *, seconds: float) -> None:
    """Play what waits for `worker` until nothing does or `seconds` are over.

    Ends early after a fault of ours: what is wrong with this host would meet the next piece too. While this host is out
    of service nothing is claimed.
    """
    ends = time.monotonic() + seconds
    if not host_checks.wait_for_service(seconds):
        return
    claim = heartbeat.hold(queue.claim(worker))
    if claim is not None and queue.waiting_for(worker).exists():
        # heard by another worker that is idle, or else by this one when it is done: rings neither grow nor run out
        notify.notify("matches.play")
    while claim is not None:
        with log_ids(match=claim.piece.match_id):
            claim = _play_match(claim, heartbeat, ends)


def _play_match(claim: Claim, heartbeat: Heartbeat, ends: float) -> Claim | None:
    """Play the match of `claim` as long as there are pieces and time; the claim on another match that came next."""
    match, following = claim.piece.match, None
    try:
        with engine_adapter.Session(match, claim.worker) as session:
            while True:
                with log_ids(piece=claim.piece.pk):
                    queue.commit(claim, session.settle(session.play(claim.piece)))
                heartbeat.drop(claim)
                following = _next(claim, heartbeat, ends)
                if following is None or following.piece.match_id != match.pk:
                    return following
                claim, following = following, None
    except queue.LostClaimError:
        with log_ids(piece=claim.piece.pk):
            log.warning("%s was lost in mid-play; nothing of it was written", claim.piece)
        _release_claim(claim, following, heartbeat)
    except Exception as failure:  # whatever it is, it is ours: players fail in the result
        with log_ids(piece=claim.piece.pk):
            faults.report(log, failure, "%s could not be played", claim.piece)
            # a host that cannot play is no fault of the piece: it must not be given up for that
            fault = f"{type(failure).__name__}: {failure}" if host_checks.check_after(failure) else ""
        _release_claim(claim, following, heartbeat, fault=fault)
    except BaseException:  # told to stop: nobody's fault, and the pieces are free at once
        _release_claim(claim, following, heartbeat)
        raise
    return None


def _next(claim: Claim, heartbeat: Heartbeat, ends: float) -> Claim | None:
    if time.monotonic() >= ends:
        return None
    return heartbeat.hold(queue.claim(claim.worker, prefer=claim.piece.match))


def _release_claim(claim: Claim, following: Claim | None, heartbeat: Heartbeat, fault: str = "") -> None:
    heartbeat.drop(claim)
    queue.release_claim(claim, fault=fault)
    if following is not None:
        heartbeat.drop(following)
        queue.release_claim(following)
