"""Comparison of the quota ledger with the outcome of submissions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

from django.db.models import QuerySet

from competitions.models import Competition
from core import clock
from core.data_difference import Difference
from core.extension_point import ExtensionPoint
from submissions import build_outcomes
from submissions.extension_points import void_by_platform
from submissions.models import QuotaSlot, Submission
from submissions.quota import WINDOW
from submissions.quota_ledger import AWAITS_ORGANISER, BUILD_REJECTED, FAULT, OVERDUE, WITHDRAWN, refund
from workers.fault_record import MAX_FAULTS


def differing_slots(competition: Competition | None = None, *, repair: bool = False) -> Iterator[Difference]:
    """Yield submissions without a slot or with another push's slot, wrong refunds, and exceeded quotas.

    A refund is wrong if it is missing or has no cause; a quota is exceeded if a repository used more slots in the last
    day. With `repair`, missing refunds are made.
    """
    submissions, slots = Submission.objects.order_by("pk"), QuotaSlot.objects.order_by("pk")
    if competition is not None:
        submissions = submissions.filter(repository__entry__competition=competition)
        slots = slots.filter(repository__entry__competition=competition)
    for submission in submissions.filter(quota_slot__isnull=True):
        yield Difference(str(submission), "it has no slot in the quota ledger")
    void = _keys(void_by_platform)
    for submission in submissions.filter(quota_slot__isnull=False).select_related("quota_slot"):
        slot = submission.quota_slot
        if problem := _problem_of(submission, slot, void):
            yield Difference(str(submission), problem)
        elif reason := _missing_refund(submission, slot, void):
            done = repair and refund(submission=submission, reason=reason)
            yield Difference(str(submission), f"its slot is used and should be refunded ({reason})", repaired=done)
    yield from _overused(slots)


def _keys(asked: ExtensionPoint[[], QuerySet[Submission]]) -> frozenset[int]:
    return frozenset(key for found in asked.answers() for key in found.values_list("pk", flat=True))


def _problem_of(submission: Submission, slot: QuotaSlot, void: Container[int]) -> str:
    """Return what is wrong with a slot in any case, "" if nothing.

    `void`: submissions whose evaluation ended by a platform error.
    """
    if (slot.repository_id, slot.commit, slot.tag) != (submission.repository_id, submission.commit, submission.tag):
        return f"its slot belongs to {slot.tag} at {slot.commit[:7]}"
    if slot.state == QuotaSlot.State.RESERVED:
        return "its slot is still reserved"
    if slot.state == QuotaSlot.State.REFUNDED and not _refund_was_due(submission, slot, void):
        return f"its slot was refunded without a cause ({slot.reason})"
    return ""


def _missing_refund(submission: Submission, slot: QuotaSlot, void: Container[int]) -> str:
    """Return why a used slot should have been refunded, "" if it should not."""
    if slot.state != QuotaSlot.State.USED:
        return ""
    if submission.state == Submission.State.REJECTED and submission.cause == Submission.Cause.PLATFORM:
        return "" if slot.reason == AWAITS_ORGANISER else FAULT
    if submission.state == Submission.State.WITHDRAWN and not submission.builds.exists():
        return WITHDRAWN
    return FAULT if _evaluation_failed(submission, void) else ""


def _refund_was_due(submission: Submission, slot: QuotaSlot, void: Container[int]) -> bool:
    if slot.reason == WITHDRAWN:
        return submission.state == Submission.State.WITHDRAWN
    if slot.reason == OVERDUE and submission.overdue_at:
        return True
    if slot.reason == BUILD_REJECTED:
        not_rejected = {build_outcomes.READY, build_outcomes.WITHDRAWN} | build_outcomes.NOT_COUNTED
        not_rejected |= build_outcomes.PLATFORM_FAULTS
        return submission.builds.exclude(finished_at=None).exclude(outcome__in=not_rejected).exists()
    faults = submission.builds.filter(outcome__in=build_outcomes.PLATFORM_FAULTS)
    return _evaluation_failed(submission, void) or faults.count() >= MAX_FAULTS


def _evaluation_failed(submission: Submission, void: Container[int]) -> bool:
    return submission.evaluation_fault_at is not None or submission.pk in void


def _overused(slots: QuerySet[QuotaSlot]) -> Iterator[Difference]:
    taken = slots.filter(reserved_at__gt=clock.database_now() - WINDOW).exclude(state=QuotaSlot.State.REFUNDED)
    used = Counter(slot.repository for slot in taken.select_related("repository__track", "repository__entry__team"))
    for repository, count in used.items():
        if count > repository.track.quota:
            quota = f"the quota is {repository.track.quota} (perhaps it was lowered since)"
            yield Difference(str(repository), f"{count} slots are used in 24 hours, and {quota}")
