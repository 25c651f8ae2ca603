"""Actions on submissions: submit a stored commit, withdraw, retry, disqualify, reinstate, refund, make a baseline."""

from __future__ import annotations

import re

from django.db import transaction

from accounts.models import User
from accounts.selectors import is_member
from competitions.permissions import require, require_not_archived
from core import clock, event_log, submission_traces, worker_notifications
from core.errors import Fault, Refusal, RefusedInState
from core.roles import Right
from repositories.git_reader import GitReader
from repositories.models import Repository
from repositories.push_budget import charged
from repositories.services import push_lock
from submissions import build_queue, quota_ledger, state_timeouts
from submissions.admission import check_commit_is_new, check_may_submit
from submissions.formats import format_of
from submissions.models import QuotaSlot, Submission
from submissions.preflight import check_content
from submissions.quota_ledger import settle_late_tags, settle_reservations

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_WEB_TAG = re.compile(r"submission-web-(\d{1,9})")
_FINAL = (Submission.State.READY, Submission.State.REJECTED, Submission.State.WITHDRAWN)


def submit(*, repository: Repository, commit: str, by: User) -> Submission:
    """Submit a commit of the repository with the same checks as a push, which are charged to the team's push budget; it
    gets a tag `submission-web-N`.

    Raise `Refusal` or `RefusedForNow`; no slot is used then.
    """
    trace = submission_traces.RootSpan("submit")
    settle_reservations(repository)
    settle_late_tags(repository)
    with (
        charged(repository.entry.team) as account,
        account.meter.running(),
        GitReader(repository.path) as reader,
    ):
        whole = reader.resolve(commit) if _COMMIT.fullmatch(commit) else None
        if whole is None:
            raise Refusal(
                f"the repository has no commit {commit[:64]!r}",
                fix="push it first, then submit it",
            )
        check_may_submit(repository, by, whole)
        checked = check_content(repository, whole, reader)
        with transaction.atomic():
            quota_ledger.lock(repository)
            slots = QuotaSlot.objects.filter(repository=repository, tag__startswith="submission-web-")
            names = [*slots.values_list("tag", flat=True), *(ref.removeprefix("refs/tags/") for ref in reader.refs())]
            numbers = (int(found[1]) for name in names if (found := _WEB_TAG.fullmatch(name)))
            slot = quota_ledger.reserve(
                repository=repository,
                commit=whole,
                tag=f"submission-web-{max(numbers, default=0) + 1}",
                by=by,
                title=checked.title,
                licence=checked.licence,
            )
        with push_lock(repository.path):
            made = reader.make_tag(slot.tag, whole)
        if not made:
            raise Fault(f"the tag {slot.tag} in {repository} was set by someone else")
    submission = quota_ledger.bind(slot=slot, by=by)
    trace.submission = submission.pk
    trace.end()
    return submission


def withdraw(*, submission: Submission, by: User) -> None:
    """Withdraw a submission permanently; refund its slot if its build has not begun. Raise `Refusal`."""
    team = submission.repository.entry.team
    if not is_member(by, team):
        raise Refusal(f"only members of {team.name} can withdraw its submissions", fix="ask a member")
    with transaction.atomic():
        held = _locked(submission)
        if held.state in (Submission.State.REJECTED, Submission.State.WITHDRAWN):
            raise Refusal(
                f"submission {held.pk} is already {held.get_state_display()}",
                fix="no action needed",
            )
        unbuilt = held.state == Submission.State.RECEIVED and not held.builds.exists()
        _change(held, Submission.State.WITHDRAWN, by, "withdraw")
        if unbuilt:
            quota_ledger.refund(submission=held, reason=quota_ledger.WITHDRAWN, by=by)
        format_of(submission).eligibility_changed(submission)
        build_queue.stop(held)
    submission.refresh_from_db()


def retry(*, submission: Submission, by: User, reason: str) -> None:
    """Build and check a rejected submission again, with a new deadline. Organisers only."""
    require(by, submission.repository.entry.competition, Right.ANSWER)
    require_not_archived(submission.repository.entry.competition)
    with transaction.atomic():
        held = _locked(submission)
        newest = held.builds.last()
        if held.state != Submission.State.REJECTED:
            raise RefusedInState(
                f"submission {held.pk} is {held.get_state_display()}",
                state=held.state,
                fix="you can retry only a rejected submission",
            )
        if newest and newest.finished_at is None:
            raise Refusal(f"{newest} is still running", fix="wait until it has finished, a few minutes at most")
        check_commit_is_new(held.repository, held.commit, but=held.pk)
        _check_commit_is_not_reserved(held)
        held.cause, held.reason, held.problem, held.fix, held.player = "", "", "", "", None
        _change(held, Submission.State.RECEIVED, by, "retry", reason)
        worker_notifications.notify("submissions.build", submission=held.pk)
    submission.refresh_from_db()


def disqualify(*, submission: Submission, by: User, reason: str) -> None:
    """Remove a submission from the leaderboards with a reason. Organisers only."""
    require(by, submission.repository.entry.competition, Right.JUDGE)
    if not reason.strip():
        raise Refusal("a disqualification needs a reason; the team sees it", fix="enter a reason")
    _judge(submission, by, "disqualify", reason.strip())


def reinstate(*, submission: Submission, by: User, reason: str) -> None:
    """Undo a disqualification. Organisers only."""
    require(by, submission.repository.entry.competition, Right.JUDGE)
    _judge(submission, by, "reinstate", reason)


def make_baseline(*, submission: Submission, by: User, reason: str) -> None:
    """Make a ready submission a baseline of its track: it is no longer ranked among teams. Organisers only."""
    require(by, submission.repository.entry.competition, Right.JUDGE)
    require_not_archived(submission.repository.entry.competition)
    if not reason.strip():
        raise Refusal("a baseline needs a reason; the team sees it", fix="enter a reason")
    if not format_of(submission).has_baselines:
        raise Refusal("a competition of this format has no baselines", fix="no action needed")
    ready = {"state": Submission.State.READY, "disqualified_at": None, "baseline_at": None}
    with transaction.atomic():
        changes = {"baseline_at": clock.database_now(), "baseline_for": reason.strip()}
        if not Submission.objects.filter(pk=submission.pk, **ready).update(**changes):
            raise _no_baseline(Submission.objects.get(pk=submission.pk))
        event_log.record("make_baseline", submission, by=by, reason=reason)
        format_of(submission).eligibility_changed(submission)
    submission.refresh_from_db()


def end_baseline(*, submission: Submission, by: User, reason: str) -> None:
    """Let a submission that was made a baseline count for its team again. Organisers only."""
    require(by, submission.repository.entry.competition, Right.JUDGE)
    require_not_archived(submission.repository.entry.competition)
    with transaction.atomic():
        baseline = Submission.objects.filter(pk=submission.pk, baseline_at__isnull=False)
        if not baseline.update(baseline_at=None, baseline_for=""):
            raise Refusal(f"submission {submission.pk} is not a baseline", fix="no action needed")
        event_log.record("end_baseline", submission, by=by, reason=reason)
        format_of(submission).eligibility_changed(submission)
    submission.refresh_from_db()


def refund_fault(*, submission: Submission, by: User, reason: str) -> None:
    """Refund the slot of a platform error that waits for an organiser. Organisers only."""
    require(by, submission.repository.entry.competition, Right.ANSWER)
    with transaction.atomic():
        quota_ledger.lock(submission.repository)
        if not quota_ledger.awaiting_organiser().filter(submission=submission).exists():
            slot = QuotaSlot.objects.filter(submission=submission).first()
            raise RefusedInState(
                f"the slot of submission {submission.pk} does not wait for an organiser",
                state=slot.state if slot else "no slot",
                fix="no action needed",
            )
        quota_ledger.refund(submission=submission, reason=quota_ledger.FAULT, by=by)
        event_log.record("refund_fault", submission, by=by, reason=reason)


def _locked(submission: Submission) -> Submission:
    quota_ledger.lock(submission.repository)
    return Submission.objects.select_for_update().get(pk=submission.pk)


def _change(submission: Submission, state: str, by: User, verb: str, reason: str = "") -> None:
    now = clock.database_now()
    submission.state, submission.state_since = state, now
    submission.deadline = None if state in _FINAL else now + state_timeouts.RECEIVED
    submission.save()
    event_log.record(verb, submission, by=by, reason=reason)


def _judge(submission: Submission, by: User, verb: str, reason: str) -> None:
    counted = Submission.objects.filter(pk=submission.pk, disqualified_at=None)
    disqualified = Submission.objects.filter(pk=submission.pk, disqualified_at__isnull=False)
    with transaction.atomic():
        if verb == "disqualify":
            changed = counted.update(disqualified_at=clock.database_now(), disqualified_for=reason)
        else:
            changed = disqualified.update(disqualified_at=None, disqualified_for="")
        if not changed:
            current = "disqualified" if verb == "disqualify" else "not disqualified"
            already = "already " if verb == "disqualify" else ""
            problem = f"submission {submission.pk} is {already}{current}"
            raise RefusedInState(problem, state=current, fix="no action needed")
        event_log.record(verb, submission, by=by, reason=reason)
        format_of(submission).eligibility_changed(submission)
    submission.refresh_from_db()


def _no_baseline(submission: Submission) -> Refusal:
    """Return why a submission cannot become a baseline."""
    if submission.baseline_at is not None:
        return Refusal(f"submission {submission.pk} is already a baseline", fix="no action needed")
    if submission.disqualified_at is not None:
        return Refusal(f"submission {submission.pk} is disqualified", fix="reinstate it first")
    state = submission.get_state_display()
    return Refusal(f"submission {submission.pk} is {state}", fix="choose a ready submission")


def _check_commit_is_not_reserved(submission: Submission) -> None:
    same = QuotaSlot.objects.filter(
        repository=submission.repository, commit=submission.commit, state=QuotaSlot.State.RESERVED
    )
    if slot := same.first():
        raise Refusal(
            f"commit {slot.commit[:7]} is being submitted again as {slot.tag}",
            fix="look at that submission in a few minutes; retry this one if that push failed",
        )
