"""The door: a pushed tag `submission-...` is a submission."""

from __future__ import annotations

from collections.abc import Iterable

from core.errors import Refusal
from repositories.push import Door, Push, RefUpdate
from repositories.reading import Reader
from submissions import words
from submissions.checks import check
from submissions.ledger import bind, reserve, settle_reservations
from submissions.selectors import allowance_of

PREFIX = "refs/tags/submission-"
"""What the refs of submissions begin with."""

MAX_TAG_CHARACTERS = 200


class SubmissionDoor(Door):
    """Lets plain pushes through, and checks, reserves and records submissions."""

    def before(self, push: Push) -> str:
        """Check the push's submission, if it brings one, and reserve its slot; a refused push burns nothing."""
        update = _submission_in(push)
        if update is None:
            return ""
        settle_reservations(push.repository)  # so that a push that broke off takes no slot from this one
        with Reader(push.repository.path, push.environment) as reader:
            commit = _commit_of(reader, update)
            checked = check(push.repository, push.user, commit, reader)
        reserve(repository=push.repository, commit=commit, tag=_tag(update), by=push.user)
        return f"{_tag(update)} ({commit[:7]}) passed the door. plan: {checked.plan}"

    def after(self, push: Push) -> str:
        """Make the submission of a push that came through the door, or say how to make one."""
        update = _submission_in(push)
        with Reader(push.repository.path) as reader:
            if update is None:
                return _hint(push, reader)
            commit = _commit_of(reader, update)
        submission = bind(repository=push.repository, commit=commit, tag=_tag(update), by=push.user)
        return words.accepted(submission, push.site_url, allowance_of(push.repository))


def _submission_in(push: Push) -> RefUpdate | None:
    updates = [update for update in push.updates if update.ref.startswith(PREFIX)]
    for update in updates:
        if not update.creates:
            raise Refusal(
                f"{_tag(update)} names a submission, and a submission's tag neither moves nor goes",
                fix="tag the new commit with a new name, e.g. git tag submission-2 && git push origin submission-2",
            )
    if len(updates) > 1:
        raise Refusal(
            f"this push brings {len(updates)} submissions: {_some(map(_tag, updates))}",
            fix=f"push one at a time: git push origin {_tag(updates[0])}",
        )
    if updates and len(_tag(updates[0])) > MAX_TAG_CHARACTERS:
        raise Refusal(f"the tag's name has more than {MAX_TAG_CHARACTERS} characters", fix="choose a shorter one")
    return updates[0] if updates else None


def _commit_of(reader: Reader, update: RefUpdate) -> str:
    commit = reader.resolve(update.new)
    if commit is None:
        raise Refusal(
            f"{_tag(update)} is on something that is no commit",
            fix=f"delete it with git tag -d {_tag(update)}, then tag a commit: git tag {_tag(update)} HEAD",
        )
    return commit


def _hint(push: Push, reader: Reader) -> str:
    if all(update.deletes for update in push.updates):
        return ""
    repository = push.repository
    taken = {ref.removeprefix("refs/tags/") for ref in reader.refs()}
    number = next(n for n in range(1, len(taken) + 2) if f"submission-{n}" not in taken)
    left = words.slots(allowance_of(repository))
    return (
        f"Stored, not submitted. To submit: git tag submission-{number} && git push origin submission-{number}\n{left}"
    )


def _tag(update: RefUpdate) -> str:
    return update.ref.removeprefix("refs/tags/")


def _some(tags: Iterable[str]) -> str:
    names = list(tags)
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
