"""Push gate of submissions: a pushed tag `submission-...` is a submission."""

from __future__ import annotations

from core.errors import Refusal
from repositories.git_reader import GitReader
from repositories.push_gate import Push, PushGate, RefUpdate
from repositories.ref_rules import SUBMISSION
from submissions import messages
from submissions.admission import check_content, check_may_submit
from submissions.quota_ledger import bind, reserve, settle_late_tags, settle_reservations
from submissions.selectors import allowance_of, next_tag_of


class SubmissionPushGate(PushGate):
    """Push gate that accepts plain pushes, and checks, reserves and records submissions."""

    def before(self, push: Push) -> str:
        """Check the submission of the push, if any, and reserve its slot; a rejected push uses no slot."""
        update = _submission_in(push)
        if update is None:
            return ""
        settle_reservations(push.repository)  # so that an interrupted push uses no slot that this one needs
        settle_late_tags(push.repository)  # before this one, which would otherwise be the older submission
        with GitReader(push.repository.path, push.environment) as reader:
            commit = _commit_of(reader, update)
            check_may_submit(push.repository, push.user, commit)
            try:
                plan = check_content(push.repository, commit, reader)
            except Refusal as refusal:  # the tag exists only in the team's own clone
                tag = _tag(update)
                again = f"then: git commit -a && git tag -f {tag} && git push origin {tag}"
                raise Refusal(refusal.problem, fix=f"{refusal.fix}\n  {again}") from refusal
        reserve(repository=push.repository, commit=commit, tag=_tag(update), by=push.user)
        return f"{_tag(update)} ({commit[:7]}) passed all checks; build plan: {plan}"

    def after(self, push: Push) -> str:
        """Create the submission of an accepted push, or say how to submit."""
        update = _submission_in(push)
        with GitReader(push.repository.path) as reader:
            if update is None:
                return _hint(push, reader)
            commit, refs = _commit_of(reader, update), reader.refs()
        try:
            submission = bind(repository=push.repository, commit=commit, tag=_tag(update), by=push.user)
        except Refusal as refusal:  # so late that its slot was refunded meanwhile
            return messages.too_late(_tag(update), commit, refusal, next_tag_of(push.repository, refs))
        return messages.accepted(submission, push.site_url, allowance_of(push.repository))


def _submission_in(push: Push) -> RefUpdate | None:
    """Return the tag that submits; the ref rules ensure that there is at most one, and that it is new."""
    return next((update for update in push.updates if update.ref.startswith(SUBMISSION) and update.creates), None)


def _commit_of(reader: GitReader, update: RefUpdate) -> str:
    commit = reader.resolve(update.new)
    if commit is None:
        raise Refusal(
            f"{_tag(update)} does not point to a commit",
            fix=f"run git tag -d {_tag(update)}, then tag a commit: git tag {_tag(update)} HEAD",
        )
    return commit


def _hint(push: Push, reader: GitReader) -> str:
    if all(update.deletes for update in push.updates):
        return ""
    repository = push.repository
    tag = next_tag_of(repository, reader.refs())
    left = messages.slots(allowance_of(repository))
    return f"Stored, not submitted. To submit: git tag {tag} && git push origin {tag}\n{left}"


def _tag(update: RefUpdate) -> str:
    return update.ref.removeprefix("refs/tags/")
