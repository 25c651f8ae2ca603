"""Which refs a push may change. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.errors import Refusal
from repositories.push import RefUpdate

SUBMISSION = "refs/tags/submission-"
RESERVED = "refs/tags/submission-web-"
"""Tags that the site itself sets."""

SANE = re.compile(r"refs/(?:heads|tags)/[A-Za-z0-9_][A-Za-z0-9._/+@=-]{0,199}")


def check_refs(updates: Sequence[RefUpdate]) -> None:
    """Raise `Refusal` for the first update that is not allowed."""
    for update in updates:
        _check_name(update)
        if update.ref.startswith(SUBMISSION):
            _check_submission(update)
    fresh = [update for update in updates if update.ref.startswith(SUBMISSION)]
    if len(fresh) > 1:
        raise Refusal(
            f"this push has {len(fresh)} submission tags, and at most one is taken at once",
            fix=f"push them one by one: git push origin {_short(fresh[0])}",
        )


def _check_name(update: RefUpdate) -> None:
    if not update.ref.startswith(("refs/heads/", "refs/tags/")):
        raise Refusal(f"{update.ref} is neither a branch nor a tag", fix="push branches and tags only")
    if not SANE.fullmatch(update.ref):
        raise Refusal(
            f"the name {_short(update)} is not taken", fix="use at most 200 letters, digits and ._/+@=- in it"
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


def _short(update: RefUpdate) -> str:
    return update.ref.split("/", 2)[2]
