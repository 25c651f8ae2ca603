"""The push gate: a pushed tag `submission-...` is a submission, and every other push is stored."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from competitions.models import Competition
from competitions.permissions import require_not_archived
from core.errors import Refusal, RefusedForNow
from core.time_format import in_words
from repositories.git_reader import GitReader
from repositories.http.push_hooks import AcceptedPush, Push
from repositories.ref_rules import SUBMISSION, RefUpdate
from submissions.admission import check_may_submit, check_member
from submissions.local_check_command import local_check
from submissions.models import QuotaSlot
from submissions.preflight import check_content
from submissions.quota import Allowance, allowance_of
from submissions.quota_ledger import bind, reserve, settle_late_tags, settle_reservations
from submissions.selectors import next_tag_of


def submission_gate(push: Push, reader: GitReader) -> AcceptedPush:
    """Check the submission of a push, if any, and reserve its slot; a rejected push uses no slot.

    An archived competition accepts no push, and nobody who has left the team meanwhile pushes.
    """
    # read again: a long push began before
    require_not_archived(Competition.objects.get(pk=push.repository.entry.competition_id))
    check_member(push.repository, push.user)
    # the ref rules ensure that there is at most one, and that it is new
    update = next((update for update in push.updates if update.ref.startswith(SUBMISSION) and update.creates), None)
    if update is None:
        return AcceptedPush("", after=partial(_how_to_submit, push))
    tag = update.ref.removeprefix("refs/tags/")
    # 1. interrupted pushes: they use no slot that this one needs, and an arrived tag is the older submission
    settle_reservations(push.repository)
    settle_late_tags(push.repository)
    # 2. the commit
    commit = reader.resolve(update.new)
    if commit is None:
        raise Refusal(
            f"{tag} does not point to a commit", fix=f"run git tag -d {tag}, then tag a commit: git tag {tag} HEAD"
        )
    # 3. the checks, cheap ones first
    check_may_submit(push.repository, push.user, commit, site_url=push.site_url)
    try:
        checked = check_content(push.repository, commit, reader)
    except Refusal as refusal:  # the tag exists only in the team's own clone
        again = f"then: git add --all && git commit && git tag -f {tag} && git push origin HEAD {tag}"
        raise Refusal(refusal.problem, fix=f"{refusal.fix}\n{again}") from refusal
    # 4. a slot, under the repository's lock
    slot = reserve(
        repository=push.repository,
        commit=commit,
        tag=tag,
        by=push.user,
        title=checked.title,
        licence=checked.licence,
    )
    message = f"{tag} ({commit[:7]}) passed all checks; build plan: {checked.plan}"
    return AcceptedPush(message, after=partial(_submit, push, update, slot))


def _submit(push: Push, update: RefUpdate, slot: QuotaSlot, updates: Sequence[RefUpdate]) -> str:
    """Create the submission, now that git has set its tag."""
    if update not in updates:
        return _how_to_submit(push, updates)
    try:
        submission = bind(slot=slot, by=push.user)
    except Refusal as refusal:  # so late that its slot was refunded meanwhile
        when = f" after {in_words(refusal.accepted_from)}" if isinstance(refusal, RefusedForNow) else ""
        tag = _next_tag(push, updates)
        commands = f"git tag {tag} {slot.commit[:12]} && git push origin HEAD {tag}"
        fix = refusal.fix or f"push another tag for it{when}: {commands}"
        return f"{slot.tag} is stored, but arrived too late for a submission: {refusal.problem}\n  fix: {fix}"
    push.trace.submission = submission.pk
    competition = push.repository.entry.competition
    return "\n".join(
        [
            f"Submission {submission.pk} received: {submission.title}",
            f"Follow it at {push.site_url}/submissions/{submission.pk}",
            f"Its smoke test on your own computer: {local_check(competition, site=push.site_url)}",
            _slots(allowance_of(push.repository)),
        ]
    )


def _how_to_submit(push: Push, updates: Sequence[RefUpdate]) -> str:
    if all(update.deletes for update in updates):
        return ""
    tag = _next_tag(push, updates)
    left = _slots(allowance_of(push.repository))
    return f"Stored, not submitted. To submit: git tag {tag} && git push origin HEAD {tag}\n{left}"


def _next_tag(push: Push, updates: Sequence[RefUpdate]) -> str:
    return next_tag_of(push.repository, {*push.refs, *(update.ref for update in updates)})


def _slots(left: Allowance) -> str:
    text = f"Slots left: {left.left} of {left.quota} in any 24 hours."
    if not left.frees_at:
        return text
    return f"{text} The next slot is free at {in_words(left.next_at or left.frees_at[0])}."
