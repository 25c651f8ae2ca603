"""Frames of played pieces, which hold secret samples, from the piece until its model has been audited."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction

from core import clock, event_log, object_store
from formats.query.matches.models import Match, Piece, SampleResult

UNUSED_FOR = timedelta(days=1)
"""Age of frames that no piece names, which a killed worker left: longer than from their storage to the commit."""

ENDED_FOR = timedelta(days=30)
"""So long the frames of a cancelled or failed match are kept; then a new request plays their pieces again."""

_AREA = "kept-frames"
_RANDOM_BYTES = 16
"""Before the frames: those of two pieces are never one object, so that each can be removed."""


def keep(frames: bytes) -> str:
    """Store the frames of one piece; return the digest. Raise `HostFault`."""
    return object_store.put(secrets.token_bytes(_RANDOM_BYTES) + frames, _AREA)


def read(digest: str) -> bytes:
    """Return kept frames. Raise `HostFault`."""
    return object_store.get(digest, _AREA)[_RANDOM_BYTES:]


def exist(digest: str) -> bool:
    """Return True if the frames are still kept."""
    return object_store.size(digest, _AREA) is not None


def remove(digest: str) -> None:
    """Remove frames whose audit is done."""
    object_store.remove(digest, _AREA)


def sweep() -> int:
    """Remove frames that no audit will need; return how many files that were."""
    for match in Match.objects.filter(
        state__in=[Match.State.CANCELLED, Match.State.FAILED],
        finished_at__lt=clock.database_now() - ENDED_FOR,
        pk__in=Piece.objects.exclude(kept="").values("match"),
    ):
        _forget(match)
    # the list first: what is stored after it is younger
    old = object_store.stored_before(_AREA, clock.now() - UNUSED_FOR)
    named = set(Piece.objects.filter(kept__in=old).values_list("kept", flat=True))
    unused = [name for name in old if name not in named]
    for name in unused:
        object_store.remove(name, _AREA)
    return len(unused)


def play_again_without() -> None:
    """Let the pieces be played again whose frames are gone, as those are whose audit ended after a backup.

    Call it in a site that was restored, before its workers start: an audit without its frames fails on every host.
    """
    for match in Match.objects.filter(pk__in=Piece.objects.exclude(kept="").values("match")):
        kept = match.pieces.exclude(kept="").values_list("kept", flat=True)
        if gone := [digest for digest in kept if not exist(digest)]:
            _forget(match, gone)


def _forget(match: Match, gone: Sequence[str] | None = None) -> None:
    """Return the pieces of a match that were not audited to the queue, or those of them whose frames are `gone`.

    The sweep then removes the frames of all of them.
    """
    with transaction.atomic():
        same = Match.objects.select_for_update(no_key=True).filter(pk=match.pk, state=match.state)
        if not same.exists():  # requested again meanwhile
            return
        pieces = Piece.objects.filter(match=match).exclude(kept="")
        why = f"not audited within {ENDED_FOR.days} days"
        if gone is not None:
            pieces, why = pieces.filter(kept__in=gone), "not audited, and their frames are gone"
        SampleResult.objects.filter(piece__in=pieces).delete()
        count = pieces.update(
            state=Piece.State.WAITING,
            kept="",
            artefact="",
            audit={},
            failures=[],
            seconds=None,
            played_at=None,
            worker=None,
            worker_class="",
            calibration=None,
        )
        Piece.objects.filter(match=match, kind=Piece.Kind.AUDIT).delete()
        Match.objects.filter(pk=match.pk, state=Match.State.AUDIT).update(state=Match.State.PLAYING)
        event_log.record("forget_frames", match, reason=f"{count} pieces were {why}")
