"""Updates of refs, and the rules on those that one push may make."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings

from core.errors import Refusal

NULL_OBJECT = "0" * 40
"""The object name that git writes for the missing side of an update."""

SUBMISSION = "refs/tags/submission-"
RESERVED = "refs/tags/submission-web-"
"""Tags that only the site sets."""

SANE = re.compile(r"refs/(?:heads|tags)/[A-Za-z0-9_][A-Za-z0-9._/+@=-]{0,199}")
NO_REF_OF_GIT = re.compile(r"\.\.|//|/\.|\.lock(?:/|$)|[./]$")
"""What git-check-ref-format(1) refuses of names that are `SANE`; git looks after the push gate has accepted."""
MAX_NAME_PARTS = 10
"""Each part of a name except the last is a folder."""


@dataclass(frozen=True)
class RefUpdate:
    """One line of a push: `ref` goes from object `old` to `new`, in hexadecimal; `NULL_OBJECT` if there is none."""

    old: str
    new: str
    ref: str

    @property
    def creates(self) -> bool:
        """True if the ref is new."""
        return self.old == NULL_OBJECT

    @property
    def deletes(self) -> bool:
        """True if the ref is deleted."""
        return self.new == NULL_OBJECT


def check_refs(updates: Sequence[RefUpdate], refs: Mapping[str, str]) -> None:
    """Raise `Refusal` for the first update that is not allowed; `refs` are the repository's, as `GitReader.refs`.

    A client may send a wrong old value for a ref: git notices only after the push gate has accepted the push.
    """
    if len(updates) > settings.MAX_PUSH_REFS:
        raise Refusal(
            f"this push changes {len(updates):,} branches and tags; at most {settings.MAX_PUSH_REFS:,} are allowed",
            fix="push them in several parts, or push only those that you need: git push origin main",
        )
    for update in updates:
        _check_name(update)
        if update.ref.startswith(SUBMISSION):
            _check_submission(update)
        _check_start(update, refs.get(update.ref, NULL_OBJECT))
    _check_together(updates, refs)


def _check_together(updates: Sequence[RefUpdate], refs: Mapping[str, str]) -> None:
    tags = [update for update in updates if update.ref.startswith(SUBMISSION)]
    if len(tags) > 1:
        raise Refusal(
            f"this push has {len(tags)} submission tags; only one is allowed per push",
            fix=f"push them one by one: git push origin HEAD {_short(tags[0])}",
        )
    for ref, times in Counter(update.ref for update in updates).items():
        if times > 1:
            raise Refusal(f"this push changes {ref} {times} times", fix="push each branch and tag once")
    _check_nesting([update for update in updates if update.creates], refs)
    created = sum(update.creates for update in updates)
    total = len(refs) + created - sum(update.deletes for update in updates)
    if created and total > settings.MAX_REFS:
        raise Refusal(
            f"the repository would have {total:,} branches and tags; at most {settings.MAX_REFS:,} are allowed",
            fix="delete some that you no longer need: git push origin --delete NAME",
        )


def _check_nesting(created: Sequence[RefUpdate], refs: Mapping[str, str]) -> None:
    """Reject a ref below another one: git stores refs as files."""
    names = {*refs, *(update.ref for update in created)}
    folders = {folder for name in names for folder in _folders_of(name)}
    for update in created:
        above = next((folder for folder in _folders_of(update.ref) if folder in names), None)
        if above or update.ref in folders:
            raise Refusal(
                f"{_kind(update)} is {'below' if above else 'above'} another branch or tag",
                fix="use a name that does not begin with the full name of another branch or tag and a slash",
            )


def _folders_of(ref: str) -> list[str]:
    parts = ref.split("/")
    return ["/".join(parts[:count]) for count in range(3, len(parts))]


def _check_start(update: RefUpdate, current: str) -> None:
    if update.creates and update.deletes:
        # git would treat this as the deletion of a broken ref, and delete the existing one
        raise Refusal(f"{_kind(update)} is neither created nor deleted by this push", fix="push with a git client")
    if update.creates and current != NULL_OBJECT:
        raise Refusal(f"{_kind(update)} exists already", fix="run git fetch --tags first, or use another name")
    if update.old != current:
        raise Refusal(f"{_kind(update)} has changed since your last fetch", fix="run git fetch, then push again")


def _check_name(update: RefUpdate) -> None:
    if not update.ref.startswith(("refs/heads/", "refs/tags/")):
        raise Refusal(f"{update.ref} is neither a branch nor a tag", fix="push branches and tags only")
    if not SANE.fullmatch(update.ref):
        raise Refusal(
            f"ref name {_short(update)} is not allowed", fix="use at most 200 letters, digits and ._/+@=- in it"
        )
    if NO_REF_OF_GIT.search(update.ref):
        raise Refusal(f"git does not accept the ref name {_short(update)}", fix="use another name, as git tag does")
    parts = update.ref.count("/") - 1
    if parts > MAX_NAME_PARTS:
        raise Refusal(
            f"ref name {_short(update)[:80]} has {parts} parts; at most {MAX_NAME_PARTS} are allowed",
            fix="use fewer slashes in it",
        )


def _check_submission(update: RefUpdate) -> None:
    if update.creates and update.ref.startswith(RESERVED):
        raise Refusal(f"tag name {_short(update)} is reserved for the site", fix="use another name: submission-2")
    if not update.creates:
        verb = "deleted" if update.deletes else "moved"
        raise Refusal(
            f"the tag {_short(update)} names a submission and cannot be {verb}",
            fix="use a new tag name: git tag submission-NEW && git push origin HEAD submission-NEW",
        )


def _kind(update: RefUpdate) -> str:
    return f"the {'tag' if update.ref.startswith('refs/tags/') else 'branch'} {_short(update)}"


def _short(update: RefUpdate) -> str:
    return update.ref.split("/", 2)[2]
