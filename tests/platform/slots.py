"""Slots of submissions that tests make without a push."""

from __future__ import annotations

from submissions.models import QuotaSlot, Submission


def use_slot(submission: Submission) -> QuotaSlot:
    """Return the slot that a submission uses from now on."""
    return QuotaSlot.objects.create(
        repository=submission.repository, commit=submission.commit, tag=submission.tag, title=submission.title,
        licence=submission.licence, reserved_by=submission.submitted_by, reserved_at=submission.received_at,
        state=QuotaSlot.State.USED, submission=submission,
    )  # fmt: skip


def slot_of(submission: Submission) -> tuple[str, str]:
    """Return the state of the slot of a submission, and the reason of its refund."""
    slot = QuotaSlot.objects.get(submission=submission)
    return slot.state, slot.reason
