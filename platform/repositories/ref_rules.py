"""Which refs a push may change. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings

from core.errors import Refusal
from repositories.push_gate import NOTHING, RefUpdate

SUBMISSION = "refs/tags/submission-"
RESERVED = "refs/tags/submission-web-"
"""Tags that the site itself sets."""

SANE = re.compile(r"refs/(?:heads|tags)/[A-Za-z0-9_][A-Za-z0-9._/+@=-]{0,199}")
MAX_NAME_PARTS = 10
"""Each part of a name but the last is a folder."""


@dataclass(frozen=True)
class RefLimits:
    """How many branches and tags one push may change, and one repository may have."""

    push: int
    repository: int


def ref_limits_in_force() -> RefLimits:
    """The limits of this site."""
    return RefLimits(push=settings.MAX_PUSH_REFS, repository=settings.MAX_REFS)


def check_refs(updates: Sequence[RefUpdate], refs: Mapping[str, str], limits: RefLimits) -> None:
    """Raise `Refusal` for the first update that is not allowed; `refs` are the repository's, as `GitReader.refs`.

    A client may say anything of where a ref is: git would find out after the door has let the push through.
    """
    if len(updates) > limits.push:
        raise Refusal(
            f"this push changes {len(updates):,} branches and tags, and at most {limits.push:,} are taken at once",
            fix="push them in several parts, or only those that are needed: git push origin main",
        )
    for update in updates:
        _check_name(update)
        if update.ref.startswith(SUBMISSION):
            _check_submission(update)
        _check_start(update, refs.get(update.ref, NOTHING))
    _check_together(updates, refs, limits)


def _check_together(updates: Sequence[RefUpdate], refs: Mapping[str, str], limits: RefLimits) -> None:
    fresh = [update for update in updates if update.ref.startswith(SUBMISSION)]
    if len(fresh) > 1:
        raise Refusal(
            f"this push has {len(fresh)} submission tags, and at most one is taken at once",
            fix=f"push them one by one: git push origin {_short(fresh[0])}",
        )
    for ref, times in Counter(update.ref for update in updates).items():
        if times > 1:
            raise Refusal(f"this push changes {ref} {times} times", fix="push each branch and tag once")
    _check_nesting([update for update in updates if update.creates], refs)
    made = sum(update.creates for update in updates)
    left = len(refs) + made - sum(update.deletes for update in updates)
    if made and left > limits.repository:
        raise Refusal(
            f"the repository would have {left:,} branches and tags, and at most {limits.repository:,} are taken",
            fix="delete some that are not needed any more: git push origin --delete NAME",
        )


def _check_nesting(made: Sequence[RefUpdate], refs: Mapping[str, str]) -> None:
    """git keeps refs as files, so none lies below another one."""
    names = {*refs, *(update.ref for update in made)}
    folders = {folder for name in names for folder in _folders_of(name)}
    for update in made:
        above = next((folder for folder in _folders_of(update.ref) if folder in names), None)
        if above or update.ref in folders:
            raise Refusal(
                f"{_kind(update)} lies {'below' if above else 'above'} another one",
                fix="use a name that does not begin with the whole name of another one and a slash",
            )


def _folders_of(ref: str) -> list[str]:
    parts = ref.split("/")
    return ["/".join(parts[:count]) for count in range(3, len(parts))]


def _check_start(update: RefUpdate, there: str) -> None:
    if update.creates and update.deletes:
        # git would take this for the deletion of a broken ref, and delete what is there
        raise Refusal(f"{_kind(update)} is neither made nor deleted by this push", fix="push with a git client")
    if update.creates and there != NOTHING:
        raise Refusal(f"{_kind(update)} is there already", fix="fetch first: git fetch --tags; or use another name")
    if update.old != there:
        raise Refusal(f"{_kind(update)} is not where this push takes it to be", fix="fetch, then push again: git fetch")


def _check_name(update: RefUpdate) -> None:
    if not update.ref.startswith(("refs/heads/", "refs/tags/")):
        raise Refusal(f"{update.ref} is neither a branch nor a tag", fix="push branches and tags only")
    if not SANE.fullmatch(update.ref):
        raise Refusal(
            f"the name {_short(update)} is not taken", fix="use at most 200 letters, digits and ._/+@=- in it"
        )
    parts = update.ref.count("/") - 1
    if parts > MAX_NAME_PARTS:
        raise Refusal(
            f"the name {_short(update)[:80]} has {parts} parts, and at most {MAX_NAME_PARTS} are taken",
            fix="use fewer slashes in it",
        )


def _check_submission(update: RefUpdate) -> None:
    if update.creates and update.ref.startswith(RESERVED):
        raise Refusal(f"{_short(update)}: such names are the site's own", fix="use another tag, as in submission-2")
    if not update.creates:
        act = "be deleted" if update.deletes else "move"
        raise Refusal(
            f"the tag {_short(update)} names a submission and cannot {act}",
            fix="use a new tag name: git tag submission-NEW && git push origin submission-NEW",
        )


def _kind(update: RefUpdate) -> str:
    return f"the {'tag' if update.ref.startswith('refs/tags/') else 'branch'} {_short(update)}"


def _short(update: RefUpdate) -> str:
    return update.ref.split("/", 2)[2]
