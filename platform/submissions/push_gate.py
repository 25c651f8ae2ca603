"""The door: a pushed tag `submission-...` is a submission."""

from __future__ import annotations

from core.errors import Refusal
from repositories.git_reader import GitReader
from repositories.push_gate import Push, PushGate, RefUpdate
from repositories.ref_rules import SUBMISSION
from submissions import messages
from submissions.admission import check_content, check_turn
from submissions.quota_ledger import bind, reserve, settle_late_tags, settle_reservations
from submissions.selectors import allowance_of, next_tag_of


class SubmissionPushGate(PushGate):
    """Lets plain pushes through, and checks, reserves and records submissions."""

    def before(self, push: Push) -> str:
        """Check the push's submission, if it brings one, and reserve its slot; a refused push burns nothing."""
        update = _submission_in(push)
        if update is None:
            return ""
        settle_reservations(push.repository)  # so that a push that broke off takes no slot from this one
        settle_late_tags(push.repository)  # before this one, which would be the older submission else
        with GitReader(push.repository.path, push.environment) as reader:
            commit = _commit_of(reader, update)
            check_turn(push.repository, push.user, commit)
            try:
                plan = check_content(push.repository, commit, reader)
            except Refusal as refusal:  # the tag is refused and stays where it is in the team's own repository
                tag = _tag(update)
                again = f"then: git commit -a && git tag -f {tag} && git push origin {tag}"
                raise Refusal(refusal.problem, fix=f"{refusal.fix}\n  {again}") from refusal
        reserve(repository=push.repository, commit=commit, tag=_tag(update), by=push.user)
        return f"{_tag(update)} ({commit[:7]}) passed the door; plan: {plan}"

    def after(self, push: Push) -> str:
        """Make the submission of a push that came through the door, or say how to make one."""
        update = _submission_in(push)
        with GitReader(push.repository.path) as reader:
            if update is None:
                return _hint(push, reader)
            commit, refs = _commit_of(reader, update), reader.refs()
        try:
            submission = bind(repository=push.repository, commit=commit, tag=_tag(update), by=push.user)
        except Refusal as refusal:  # so late that its slot was given back meanwhile
            return messages.too_late(_tag(update), commit, refusal, next_tag_of(push.repository, refs))
        return messages.accepted(submission, push.site_url, allowance_of(push.repository))


def _submission_in(push: Push) -> RefUpdate | None:
    """The tag that submits; there is at most one, and it is new: the policy of refs sees to that."""
    return next((update for update in push.updates if update.ref.startswith(SUBMISSION) and update.creates), None)


def _commit_of(reader: GitReader, update: RefUpdate) -> str:
    commit = reader.resolve(update.new)
    if commit is None:
        raise Refusal(
            f"{_tag(update)} is on something that is no commit",
            fix=f"delete it with git tag -d {_tag(update)}, then tag a commit: git tag {_tag(update)} HEAD",
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
