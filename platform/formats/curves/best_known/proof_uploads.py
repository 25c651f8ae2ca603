"""Uploads of proofs: checked at once for their form, and queued for verification."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import accumulate

from django.db import transaction
from django.db.models import Q

from accounts.models import User
from competitions.models import Competition
from competitions.permissions import require_not_archived
from core import clock, event_log, object_store, worker_notifications
from core.errors import Refusal, RefusedForNow
from formats.curves.best_known.best_known_distances import best_known
from formats.curves.best_known.proof_comparison import archive_of, lowers_anything
from formats.curves.best_known.released_models import require_open
from formats.curves.models import Proof
from rounds.models import RoundEntry
from workers.work_item_models import WorkItem

MOST_BYTES = 64 << 20
"""The most bytes of an upload."""

MOST_WAITING = 3
"""Proofs of one person that may wait for their verification."""

MOST_BYTES_A_DAY = 256 << 20
"""The most bytes of the archives of one person within 24 hours."""

_free = threading.BoundedSemaphore(1)
"""An upload takes a process and memory: each web process reads one at a time."""

_DAY = timedelta(days=1)
_OPEN = Q(state__in=(WorkItem.State.WAITING, WorkItem.State.CLAIMED))
_OPEN_OR_VERIFIED = _OPEN | Q(outcome=Proof.Outcome.VERIFIED)
"""Proofs that need not be uploaded again: others ended without fault of who uploaded them."""


def upload(*, entry: RoundEntry, by: User, content: bytes) -> Proof:
    """Check the form of an upload against a released model, keep its images, and request its verification.

    Raise `Refusal` naming the first thing wrong.
    """
    require_open(entry)
    if len(content) > MOST_BYTES:
        raise too_large()
    best = best_known(entry)
    sample_set = entry.round.sample_set
    with _reading():
        kept, images = archive_of(content, sample_set.count, best.rules.shape)
        if not lowers_anything(kept, sample_set, best.distances):
            raise Refusal(
                "no image is nearer to its clean image than the best known one, in either norm",
                fix="compare your distances with the table of best known ones, and upload only smaller ones",
            )
    digest = hashlib.sha256(kept).hexdigest()
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=by.pk)  # of uploads at once only so many can wait
        require_not_archived(Competition.objects.get(pk=entry.round.competition_id))
        same = Proof.objects.filter(_OPEN_OR_VERIFIED, round_entry=entry, content=digest).first()
        if same is not None:
            raise Refusal(
                f"proof {same.pk} has the same images",
                fix="upload other images, or wait for its result",
            )
        going_on = Q(round_entry__round__competition__archived_at=None)  # the others may wait for good
        if Proof.objects.filter(_OPEN, going_on, by=by).count() >= MOST_WAITING:
            raise Refusal(
                f"{MOST_WAITING} of your proofs wait for their verification",
                fix="upload the next one when one of them is verified",
            )
        _check_bytes(by, len(kept))
        proof = Proof.objects.create(
            round_entry=entry, by=by, content=digest, bytes=len(kept), images=images, uploaded_at=clock.database_now()
        )
        object_store.put(kept)  # not before: what is refused is not kept
        event_log.record("upload", proof, by=by)
        worker_notifications.notify("workers.play")
    return proof


@contextmanager
def _reading() -> Iterator[None]:
    """Read an upload in the block. Raise `RefusedForNow`, without waiting, while this process reads another one."""
    if not _free.acquire(blocking=False):
        raise RefusedForNow(
            "another upload is being read",
            accepted_from=clock.now() + timedelta(seconds=30),
            fix="upload the archive again in a minute",
        )
    try:
        yield
    finally:
        _free.release()


def _check_bytes(by: User, more: int) -> None:
    """Raise `RefusedForNow` if the archives of a person in a day would be too large: they are kept."""
    day = clock.database_now() - _DAY
    recent = list(Proof.objects.filter(by=by, uploaded_at__gt=day).order_by("uploaded_at"))
    left = MOST_BYTES_A_DAY - more - sum(each.bytes for each in recent)
    if left >= 0:
        return
    freed = accumulate(each.bytes for each in recent)
    enough = next((each.uploaded_at for each, part in zip(recent, freed, strict=True) if left + part >= 0), day)
    raise RefusedForNow(
        f"your proofs of a day may have at most {MOST_BYTES_A_DAY >> 20} MiB",
        accepted_from=enough + _DAY,
        fix="upload only images that are nearer than the best known",
    )


def too_large() -> Refusal:
    """Return the refusal of an upload with too many bytes."""
    return Refusal(
        f"an upload may have at most {MOST_BYTES >> 20} MiB",
        fix="compress the archive, or upload the images in parts",
    )
