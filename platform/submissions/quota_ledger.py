"""Quota ledger: reserves a slot under the repository's lock, binds it to a submission, refunds it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import User
from competitions.models import Competition
from competitions.permissions import require_not_archived
from core import clock, event_log, platform_error_report, submission_traces, worker_notifications
from core.errors import Refusal, RefusedForNow
from core.time_format import in_words
from repositories.git_reader import GitReader
from repositories.models import Repository
from submissions import state_timeouts
from submissions.admission import check_commit_is_new, check_may_submit, check_quota
from submissions.models import QuotaSlot, Submission
from submissions.quota import WINDOW, refunds_fault, refunds_refusal

log = logging.getLogger(__name__)

BUILD_REJECTED = "build_rejected"
FAULT = "fault"
OVERDUE = "overdue"
"""No worker built or played it in time. It stays in its queue."""
AWAITS_ORGANISER = "awaits_organiser"
"""Reason on a used slot: a platform error used it, and an organiser decides on the refund."""
PUSH_BROKEN_OFF = "push_broken_off"
WITHDRAWN = "withdrawn"


def awaiting_organiser() -> QuerySet[QuotaSlot]:
    """Return the slots that platform errors used and only an organiser may refund."""
    return QuotaSlot.objects.filter(state=QuotaSlot.State.USED, reason=AWAITS_ORGANISER)


def lock(repository: Repository) -> None:
    """Lock the repository's row until the transaction ends: all quota decisions wait here."""
    Repository.objects.select_for_update().get(pk=repository.pk)


def reserve(*, repository: Repository, commit: str, tag: str, by: User, title: str, licence: str) -> QuotaSlot:
    """Reserve a slot for the tag `tag` on `commit`, or return its reserved one; raise `Refusal` if none is available.

    `title` and `licence` are those of the commit's manifest: it is not read again. Runs in the caller's transaction, if
    there is one, which should hold the repository's lock only briefly.
    """
    with transaction.atomic():
        lock(repository)
        if slot := _reserved(repository, commit, tag):
            return slot
        # again, since other pushes may have passed the same checks meanwhile, or the competition be archived
        require_not_archived(Competition.objects.get(pk=repository.entry.competition_id))
        check_commit_is_new(repository, commit)
        check_quota(repository)
        return QuotaSlot.objects.create(
            repository=repository,
            commit=commit,
            tag=tag,
            title=title,
            licence=licence,
            reserved_by=by,
            reserved_at=clock.database_now(),
        )


def bind(*, slot: QuotaSlot, by: User) -> Submission:
    """Create the submission of the stored tag for which `slot` was reserved, and use the slot. Safe to repeat.

    Where the slot was refunded meanwhile, membership, calendar and quota are checked again, as in the push gate. Raise
    `Refusal` if they forbid it now, or if the commit was retried meanwhile; the slot then stores the reason.
    """
    try:
        return _bound(slot, by)
    except Refusal as refusal:
        with transaction.atomic():
            if QuotaSlot.objects.filter(pk=slot.pk, problem="").update(problem=str(refusal.problem)):
                event_log.record("leave_out", slot, reason=str(refusal.problem))
        raise


def _bound(given: QuotaSlot, by: User) -> Submission:
    repository, commit, tag = given.repository, given.commit, given.tag
    with transaction.atomic():
        lock(repository)
        # 1. the tag is a submission already: another slot of a push that treated it as new gets no tag
        if known := Submission.objects.filter(repository=repository, tag=tag).first():
            for slot in QuotaSlot.objects.filter(repository=repository, tag=tag, state=QuotaSlot.State.RESERVED):
                _refund(slot, QuotaSlot.State.RESERVED, PUSH_BROKEN_OFF)
            return known
        now = clock.database_now()
        # 2. its slot, or that of a second push of the same tag; or a new one, if the first was refunded meanwhile
        reserved = _reserved(repository, commit, tag)
        if reserved is not None:
            check_commit_is_new(repository, commit)
        else:
            check_may_submit(repository, by, commit)
            reserved = QuotaSlot(repository=repository, commit=commit, tag=tag, reserved_by=by, reserved_at=now)
            reserved.title, reserved.licence = given.title, given.licence
        # 3. the submission, with what the push gate read from the manifest
        submission = Submission.objects.create(
            repository=repository,
            commit=commit,
            tag=tag,
            submitted_by=by,
            received_at=now,
            title=given.title,
            licence=given.licence,
            state_since=now,
            deadline=now + state_timeouts.RECEIVED,
        )
        reserved.state, reserved.settled_at, reserved.submission = QuotaSlot.State.USED, now, submission
        reserved.save()
        event_log.record("submit", submission, by=by, commit=commit, tag=tag)
        worker_notifications.notify("submissions.build", submission=submission.pk)
        return submission


def _reserved(repository: Repository, commit: str, tag: str) -> QuotaSlot | None:
    """Return the reserved slot of `commit`, if any; raise `RefusedForNow` if it is for another tag than `tag`."""
    slots = QuotaSlot.objects.filter(repository=repository, commit=commit, state=QuotaSlot.State.RESERVED)
    slot = slots.first()
    if slot is None or slot.tag == tag:
        return slot
    accepted_from = slot.reserved_at + state_timeouts.RESERVED
    raise RefusedForNow(
        f"commit {slot.commit[:7]} is already being submitted as {slot.tag}",
        accepted_from=accepted_from,
        fix=f"wait for that push; if it failed, push again after {in_words(accepted_from)}",
    )


def settle_reservations(repository: Repository | None = None) -> int:
    """Settle slots whose push has ended, of one repository or of all; return how many were settled.

    If the tag arrived it becomes a submission, otherwise the slot is refunded; also if nobody could tell for a day.
    """
    due = QuotaSlot.objects.filter(
        state=QuotaSlot.State.RESERVED, reserved_at__lte=clock.database_now() - state_timeouts.RESERVED
    ).select_related("repository", "reserved_by")
    if repository:
        due = due.filter(repository=repository)
    return sum(_settled(slot) for slot in due)


def _settled(slot: QuotaSlot) -> bool:
    try:
        with GitReader(slot.repository.path) as reader:
            arrived = _is_at(reader, reader.refs(), slot)
        if arrived:
            _bind_stored(slot)
            return True
    except Refusal as refusal:
        log.warning("slot %s has a tag that is no longer accepted: %s", slot.pk, refusal)
    except Exception as error:  # continue with the other slots
        platform_error_report.report(log, error, "slot %s cannot be settled now", slot.pk)
        if clock.now() - slot.reserved_at < state_timeouts.UNSETTLED:
            return False
    return _refund(slot, QuotaSlot.State.RESERVED, PUSH_BROKEN_OFF)


def settle_late_tags(repository: Repository | None = None) -> int:
    """Check again slots that were refunded because no tag had arrived, of one repository or of all; return how many
    were decided.

    If the tag is stored now without an answer to the pusher, it becomes a submission if that is accepted now. Otherwise
    the slot stores the reason and the tag is not tried again: it would become a submission whenever a slot is free.
    """
    late: dict[Repository, list[QuotaSlot]] = {}
    for slot in _given_up(repository):
        late.setdefault(slot.repository, []).append(slot)
    return sum(_settle_late(repository, slots) for repository, slots in late.items())


def _given_up(repository: Repository | None) -> QuerySet[QuotaSlot]:
    same = {"repository": OuterRef("repository"), "tag": OuterRef("tag")}
    # of another push of the tag, which was given up, too: what was decided on one is final for all
    decided = QuotaSlot.objects.filter(**same, commit=OuterRef("commit")).exclude(problem="")
    slots = QuotaSlot.objects.filter(
        ~Exists(Submission.objects.filter(**same)),
        ~Exists(decided),
        state=QuotaSlot.State.REFUNDED,
        reason=PUSH_BROKEN_OFF,
        problem="",
        settled_at__gt=clock.database_now() - state_timeouts.LATE_TAG,
    )
    if repository:
        slots = slots.filter(repository=repository)
    return slots.select_related("repository__entry__competition", "reserved_by").order_by("pk")


def _settle_late(repository: Repository, slots: Sequence[QuotaSlot]) -> int:
    try:
        with GitReader(repository.path) as reader:
            refs = reader.refs()
            arrived = {slot.tag: slot for slot in slots if _is_at(reader, refs, slot)}
    except Exception as error:  # continue with the other repositories; this one is tried again later
        platform_error_report.report(log, error, "late tags of %s cannot be settled now", repository)
        return 0
    return sum(_bind_late(slot) for slot in arrived.values())


def _bind_late(slot: QuotaSlot) -> bool:
    try:
        _bind_stored(slot)
    except Refusal as refusal:
        log.info("slot %s has a tag that arrived too late: %s", slot.pk, refusal)
    except Exception as error:  # continue with the other tags
        platform_error_report.report(log, error, "the late tag of slot %s cannot be settled now", slot.pk)
        return False
    return True


def _bind_stored(slot: QuotaSlot) -> None:
    """Create the submission of a tag whose push nobody waits for any more."""
    trace = submission_traces.RootSpan("late tag")
    trace.submission = bind(slot=slot, by=slot.reserved_by).pk
    trace.end()


def _is_at(reader: GitReader, refs: Mapping[str, str], slot: QuotaSlot) -> bool:
    """Return True if the slot's tag is among `refs`, on the commit that the push gate saw."""
    current = refs.get(f"refs/tags/{slot.tag}")
    return current is not None and reader.resolve(current) == slot.commit


def settle_refusal(submission: Submission) -> bool:
    """Settle the slot of a rejected submission: refunded up to a number of times a day.

    Beyond it a user error counts, and a platform error waits for an organiser: otherwise a team that can cause one
    could build without limit.

    Return True if the refusal costs the team nothing. Safe to repeat.
    """
    with transaction.atomic():
        lock(submission.repository)
        slot = QuotaSlot.objects.filter(submission=submission).first()
        if slot is None or slot.state == QuotaSlot.State.REFUNDED:
            return True
        now = clock.database_now()
        if submission.cause == Submission.Cause.PLATFORM:
            if refunds_platform_error(submission):
                return _refund(slot, QuotaSlot.State.USED, FAULT)
            QuotaSlot.objects.filter(pk=slot.pk).update(reason=AWAITS_ORGANISER)
            return False
        known = _refunds(submission.repository, BUILD_REJECTED, now)
        return refunds_refusal(known, now) and _refund(slot, QuotaSlot.State.USED, BUILD_REJECTED)


def refunds_platform_error(submission: Submission) -> bool:
    """Return True if a platform error costs `submission` nothing now. Holds only under the repository's lock."""
    slot = QuotaSlot.objects.filter(submission=submission).first()
    if slot is None or slot.state == QuotaSlot.State.REFUNDED:
        return True
    now = clock.database_now()
    return slot.reason != AWAITS_ORGANISER and refunds_fault(_refunds(submission.repository, FAULT, now), now)


def _refunds(repository: Repository, reason: str, now: datetime) -> list[datetime]:
    """Return the times at which slots of `repository` were refunded for `reason` within a window."""
    refunds = QuotaSlot.objects.filter(repository=repository, reason=reason, settled_at__gt=now - WINDOW)
    refunded = refunds.filter(state=QuotaSlot.State.REFUNDED).values_list("settled_at", flat=True)
    return [settled for settled in refunded if settled]


def refund(*, submission: Submission, reason: str, by: User | None = None) -> bool:
    """Refund the slot of `submission`; return False if it was refunded already."""
    slot = QuotaSlot.objects.filter(submission=submission).first()
    return slot is not None and _refund(slot, QuotaSlot.State.USED, reason, by)


def _refund(slot: QuotaSlot, state: str, reason: str, by: User | None = None) -> bool:
    with transaction.atomic():
        refunded = QuotaSlot.objects.filter(pk=slot.pk, state=state).update(
            state=QuotaSlot.State.REFUNDED, settled_at=clock.database_now(), reason=reason
        )
        if refunded:
            event_log.record("refund", slot, by=by, reason=reason)
        return bool(refunded)
