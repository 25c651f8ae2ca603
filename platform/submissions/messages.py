"""Messages to teams after a push."""

from __future__ import annotations

from core.errors import Refusal, RefusedForNow
from core.times import in_words
from submissions.models import Submission
from submissions.quota_rules import Allowance


def accepted(submission: Submission, site_url: str, left: Allowance) -> str:
    """Return the answer to a push that became `submission`."""
    return "\n".join(
        [
            f"Submission {submission.pk} received: {submission.title}",
            f"Follow it at {address(submission, site_url)}",
            slots(left),
        ]
    )


def too_late(tag: str, commit: str, refusal: Refusal, next_tag: str) -> str:
    """Return the answer to a push whose slot was refunded before its tag arrived, and that is refused now."""
    when = f" after {in_words(refusal.accepted_from)}" if isinstance(refusal, RefusedForNow) else ""
    fix = f"push another tag for it{when}: git tag {next_tag} {commit[:12]} && git push origin {next_tag}"
    return f"{tag} is stored, but arrived too late for a submission: {refusal.problem}\n  fix: {refusal.fix or fix}"


def address(submission: Submission, site_url: str) -> str:
    """Return the address of the submission's page."""
    return f"{site_url}/submissions/{submission.pk}"


def slots(left: Allowance) -> str:
    """Return how much of the quota is left, and when the next slot is free."""
    text = f"Slots left: {left.left} of {left.quota} in any 24 hours."
    if not left.frees_at:
        return text
    return f"{text} The next slot is free at {in_words(left.next_at or left.frees_at[0])}."
